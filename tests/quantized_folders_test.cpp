// Hugging Face folders in other programs' quantized formats (made by quantized_folders.py): their logits are those of
// the values according to the formats' documentation, in plain F32; and unknown settings are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "formats/packed_matrix.h"
#include "support/emulated_cuda.h"
#include "support/safetensors_writer.h"
#include "support/step_driver.h"
#include "support/test_data.h"
#include "support/tiny_model.h"
#include "tools/convert.h"

namespace realizar::test {
namespace {

namespace fs = std::filesystem;

struct Format {
  const char* name;
  TypeId type;              // the type of the loaded matrices
  float tolerance = 0.03f;  // of the processor's kernels relative to F32, as a share of the logits' range
};

void PrintTo(const Format& format, std::ostream* out) {
  *out << format.name;
}

const Format kFormats[] = {{"gptq4", TypeId::kQ4_0},
                           {"gptq4_zeros", TypeId::kQ5_0},
                           {"gptq4_v2", TypeId::kQ5_0},
                           {"gptq4_act_order", TypeId::kF16},
                           {"gptq2", TypeId::kQ4_0},
                           {"gptq3", TypeId::kQ4_0},
                           {"gptq8", TypeId::kQ8_0},
                           {"awq", TypeId::kQ5_0},
                           {"compressed_w4", TypeId::kQ4_0},
                           {"compressed_w4_zeros", TypeId::kQ5_0},
                           {"compressed_w8", TypeId::kQ8_0},
                           {"compressed_w8_zeros", TypeId::kF16},
                           {"compressed_w8a8", TypeId::kQ8_0},
                           {"bnb_int8", TypeId::kQ8_0},
                           {"bnb_nf4", TypeId::kF16},
                           {"bnb_fp4", TypeId::kF16},
                           {"nvfp4_modelopt", TypeId::kNVFP4},
                           {"nvfp4_compressed", TypeId::kNVFP4},
                           {"mxfp4_compressed", TypeId::kMXFP4},
                           {"hqq8", TypeId::kF16},
                           {"hqq5", TypeId::kQ5_1},
                           {"hqq4", TypeId::kQ4_1},
                           {"hqq4_across_rows", TypeId::kQ4_1},
                           {"hqq4_axis0", TypeId::kF16},
                           {"hqq4_as_floats", TypeId::kQ4_1},
                           {"hqq4_offloaded", TypeId::kQ4_1},
                           {"hqq3", TypeId::kQ4_1},
                           {"hqq3_axis0", TypeId::kF16},
                           {"hqq2", TypeId::kQ4_1},
                           {"hqq2_axis0", TypeId::kF16},
                           {"hqq_ternary", TypeId::kQ4_1},
                           {"hqq1", TypeId::kQ4_1},
                           {"hqq1_small_groups", TypeId::kF16},
                           {"hqq_by_name", TypeId::kQ4_1}};

// Made once, for all tests of the process.
const fs::path& folders() {
  static const fs::path root = [] {
    fs::path path = fs::path(testing::TempDir()) / ("realizar_quantized_" + std::to_string(::getpid()));
    const std::string command = "python3 '" + source_file("tests/quantized_folders.py") + "' '" +
                                source_file("tests/data/conformance/qwen3-hf") + "' '" + path.string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return path;
  }();
  return root;
}

class RemoveFolders : public testing::Environment {
  void TearDown() override { fs::remove_all(folders()); }
};
[[maybe_unused]] const auto* const kRemoveFolders = testing::AddGlobalTestEnvironment(new RemoveFolders);

std::vector<float> logits(const fs::path& folder, std::unique_ptr<Backend> backend) {
  const auto file = ModelFile::open(folder);
  if (!file.ok()) {
    ADD_FAILURE() << file.error().message;
    return {};
  }
  auto driver = StepDriver::open(*file, std::move(backend), 64);
  if (!driver.ok()) {
    ADD_FAILURE() << driver.error().message;
    return {};
  }
  std::vector<int> ids(24);
  std::iota(ids.begin(), ids.end(), 5);
  return *(*driver)->run(ids, 16, 16);
}

class QuantizedFolder : public testing::TestWithParam<Format> {};

TEST_P(QuantizedFolder, HasTheLogitsOfItsValues) {
  const fs::path folder = folders() / GetParam().name;
  const auto expected = logits(folder / "plain", make_reference_backend());
  EXPECT_EQ(logits(folder / "packed", make_reference_backend()), expected);
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  const float bound = GetParam().tolerance * (*high - *low);
  const auto expect_near = [&](const std::vector<float>& actual) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], bound) << i;
  };
  expect_near(logits(folder / "packed", *cpu::make_cpu_backend({.n_threads = 2})));
  if (auto cuda = make_emulated_cuda(1); cuda.ok()) expect_near(logits(folder / "packed", std::move(*cuda)));
}

// Values that no type can store are kept as F16, with a note.
TEST_P(QuantizedFolder, KeepsTheCodesOrSaysThatItDoesNot) {
  const auto file = ModelFile::open(folders() / GetParam().name / "packed");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const TensorInfo* matrix = file->find("model.layers.1.self_attn.q_proj.weight");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(traits(matrix->type).name, traits(GetParam().type).name);
  EXPECT_EQ(matrix->shape, (std::vector<uint64_t>{128, 64}));
  EXPECT_EQ(matrix->n_bytes(), row_bytes(traits(matrix->type), size_t{128} * 64));
  const std::string_view name = GetParam().name;
  const bool is_rounded = matrix->type == TypeId::kF16 || name == "bnb_int8" || name.starts_with("hqq");
  EXPECT_EQ(file->notes().empty(), !is_rounded);
}

// A GGUF file has the same codes, or the same values if no GGUF type has the codes: then a note says so.
TEST_P(QuantizedFolder, IsTheSameModelAsAGgufFile) {
  const fs::path folder = folders() / GetParam().name / "packed",
                 path = folders() / (GetParam().name + std::string(".gguf"));
  const auto report = convert(folder, path, {}, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto source = ModelFile::open(folder), made = ModelFile::open(path);
  ASSERT_TRUE(source.ok() && made.ok());
  EXPECT_EQ(logits(path, make_reference_backend()), logits(folder, make_reference_backend()));
  const TensorInfo* matrix = made->find("blk.1.attn_q.weight");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(traits(matrix->type).name, traits(GetParam().type).name);
  for (const std::string& note : source->notes()) {
    EXPECT_NE(std::ranges::find(report->notes, note), report->notes.end()) << note;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedFolder, testing::ValuesIn(kFormats),
                         [](const auto& test) { return std::string(test.param.name); });

// The error of a folder with these settings as its config.json's "quantization_config", and the tensors of the format.
Error refusal(const char* format, const nlohmann::json& settings) {
  const fs::path from = folders() / format / "packed", to = folders() / "refused";
  fs::create_directories(to);
  fs::copy_file(from / "model.safetensors", to / "model.safetensors", fs::copy_options::overwrite_existing);
  auto config = nlohmann::json::parse(std::ifstream(from / "config.json"));
  config["quantization_config"].update(settings);
  std::ofstream(to / "config.json") << config;
  const auto file = ModelFile::open(to);
  if (!file.ok()) return file.error();
  std::unique_ptr<Backend> backend = make_reference_backend();
  EXPECT_TRUE(backend->configure({.max_rows = 1, .max_logit_rows = 1, .max_context = 16}).ok());
  const auto model = Model::load(*file, *backend);
  EXPECT_FALSE(model.ok()) << format << ' ' << settings;
  return model.ok() ? Error{} : model.error();
}

TEST(QuantizedFolders, MethodsAndSettingsThatAreNotUnderstoodAreRefusedByName) {
  const auto expect = [](const Error& error, const char* text) {
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
  };
  expect(refusal("gptq4", {{"quant_method", "aqlm"}}), "'aqlm'");
  expect(refusal("gptq4", {{"quant_method", "quanto"}}), "'quanto'");
  expect(refusal("gptq4", {{"bits", 5}}), "5 bits");
  expect(refusal("gptq4", {{"checkpoint_format", "marlin"}}), "'marlin'");
  expect(refusal("awq", {{"version", "gemv"}}), "'gemv'");
  expect(refusal("awq", {{"bits", 3}}), "3 bits");
}

// Tensors that contradict the config are not read as something else.
TEST(QuantizedFolders, TensorsThatContradictTheConfigAreErrors) {
  const auto expect = [](const Error& error, const char* text) {
    EXPECT_EQ(error.code, ErrorCode::kFormatError);
    EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
  };
  expect(refusal("gptq4_act_order", {{"desc_act", false}}), "g_idx");
  expect(refusal("gptq4_zeros", {{"sym", true}}), "expected codes less their zero from -8 to 7");
  expect(refusal("gptq4", {{"bits", 8}}), "qzeros': expected I32 [3, 16]");
}

// Experts of gpt-oss: the matrices of a stack in one tensor of four dimensions.
TEST(QuantizedFolders, StacksOfMxfp4BecomeBlocks) {
  constexpr uint64_t kMats = 2, kRows = 3, kGroups = 2;
  std::vector<std::byte> codes(kMats * kRows * kGroups * 16), scales(kMats * kRows * kGroups);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = std::byte(i * 37 % 256);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = std::byte(120 + i % 5);
  const fs::path folder = folders() / "stack";
  fs::create_directories(folder);
  SafetensorsWriter writer;
  writer.add("experts.down_proj_blocks", "U8", {kMats, kRows, kGroups, 16}, codes);
  writer.add("experts.down_proj_scales", "U8", {kMats, kRows, kGroups}, scales);
  writer.write(folder / "model.safetensors");
  std::ofstream(folder / "config.json") << R"({"quantization_config": {"quant_method": "mxfp4"}})";
  const auto file = ModelFile::open(folder);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const TensorInfo* stack = file->find("experts.down_proj");
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->type, TypeId::kMXFP4);
  EXPECT_EQ(stack->shape, (std::vector<uint64_t>{kMats, kRows, kGroups * 32}));
  std::vector<std::byte> blocks(stack->n_bytes());
  ASSERT_TRUE(stack->packed->unpack(0, kMats * kRows, blocks.data()).ok());
  std::vector<float> values(stack->n_elems());
  traits(TypeId::kMXFP4).decode(blocks.data(), values.data(), values.size());
  constexpr float kLevels[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  for (size_t i = 0; i < values.size(); ++i) {
    const auto both = std::to_integer<uint32_t>(codes[i / 2]);
    const int exponent = std::to_integer<int>(scales[i / 32]) - 127;
    EXPECT_EQ(values[i], std::ldexp(kLevels[i % 2 == 0 ? both & 15 : both >> 4], exponent)) << i;
  }
}

// GGUF has the factors of NVFP4 matrices in separate tensors, one per matrix of a stack.
TEST(QuantizedFolders, FactorsOfNvfp4InGgufMultiplyTheirMatrices) {
  constexpr TinyDims kDims{.n_layers = 1,
                           .d_model = 64,
                           .n_heads = 4,
                           .n_kv_heads = 2,
                           .head_dim = 32,
                           .d_ff = 64,
                           .n_experts = 3,
                           .expert_d_ff = 64};
  for (const bool with_experts : {false, true}) {
    TinyModel packed = tiny_model(with_experts ? kQwen3Moe : kLlama, with_experts, kDims);
    packed.matrix_type = TypeId::kNVFP4;
    TinyModel plain = packed;
    plain.matrix_type = TypeId::kF32;
    const TypeTraits& nvfp4 = traits(TypeId::kNVFP4);
    std::vector<TinyTensor> factors;
    for (TinyTensor& tensor : plain.tensors) {
      if (tensor.shape.size() < 2) continue;
      std::vector<std::byte> blocks(row_bytes(nvfp4, tensor.values.size()));
      nvfp4.encode(tensor.values.data(), blocks.data(), tensor.values.size());
      nvfp4.decode(blocks.data(), tensor.values.data(), tensor.values.size());
      if (!tensor.name.starts_with("blk.")) continue;
      const size_t n_mats = tensor.shape.size() > 2 ? tensor.shape[0] : 1, n_each = tensor.values.size() / n_mats;
      TinyTensor factor{tensor.name.substr(0, tensor.name.rfind('.')) + ".scale", Role::kIgnored, {n_mats}, {}};
      for (size_t i = 0; i < n_mats; ++i) factor.values.push_back(0.37f + 0.5f * static_cast<float>(i));
      for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] *= factor.values[i / n_each];
      factors.push_back(std::move(factor));
    }
    packed.tensors.insert(packed.tensors.end(), factors.begin(), factors.end());
    const std::vector<int> ids{5, 6, 7, 8};
    const auto logits_of = [&](const TinyModel& model) {
      auto driver = StepDriver::open(*model.open(), make_reference_backend(), 32);
      EXPECT_TRUE(driver.ok()) << driver.error().message;
      return driver.ok() ? *(*driver)->run(ids, 4, 4) : std::vector<float>();
    };
    EXPECT_EQ(logits_of(packed), logits_of(plain)) << with_experts;
  }
}

}  // namespace
}  // namespace realizar::test
