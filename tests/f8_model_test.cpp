// Checkpoints with F8_E4M3 weights: the scales of every layout in such files, and a model whose logits must be those of
// the same values in F32.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/try.h"
#include "model/f8_scales.h"
#include "quant/half.h"
#include "support/emulated_cuda.h"
#include "support/safetensors_writer.h"
#include "support/step_driver.h"
#include "support/test_data.h"

namespace realizar::test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kRows = 300, kCols = 200;  // 3 x 2 blocks

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

Result<std::vector<float>> spread(const std::vector<uint64_t>& shape, const std::vector<float>& values,
                                  uint32_t first_row = 0, uint32_t n_rows = kRows) {
  const TensorInfo matrix{"w", TypeId::kF8_E4M3, {kRows, kCols}, {}};
  const TensorInfo scales{"w_scale", TypeId::kF32, shape, bytes_of(values)};
  std::vector<float> out;
  RZ_CHECK_OK(append_f8_scales(matrix, &scales, first_row, n_rows, out));
  return out;
}

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(F8Scales, OfTheWholeMatrixAreThoseOfEveryRow) {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{}, {1}, {1, 1}}) {
    EXPECT_EQ(*spread(shape, {0.5f}), std::vector<float>(kRows * 2, 0.5f));
  }
}

TEST(F8Scales, OfRowsAreThoseOfAllTheirColumns) {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{kRows}, {kRows, 1}}) {
    const auto scales = *spread(shape, counted(kRows));
    ASSERT_EQ(scales.size(), kRows * 2);
    for (uint32_t i = 0; i < scales.size(); ++i) ASSERT_EQ(scales[i], static_cast<float>(i / 2 + 1)) << i;
  }
}

TEST(F8Scales, OfBlocksAreThoseOfTheirRowsAndColumns) {
  const auto scales = *spread({3, 2}, counted(6), 100, 180);  // rows 100 to 279, as in a fused matrix
  ASSERT_EQ(scales.size(), 180 * 2);
  for (uint32_t i = 0; i < scales.size(); ++i) {
    const uint32_t row = 100 + i / 2, block = row / 128 * 2 + i % 2;
    ASSERT_EQ(scales[i], static_cast<float>(block + 1)) << i;
  }
}

TEST(F8Scales, OfAnotherShapeOrValueAreRefusedByName) {
  const auto other = spread({2, 2}, counted(4));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(other.error().message.find("'w_scale'"), std::string::npos) << other.error().message;
  EXPECT_NE(other.error().message.find("[2, 2]"), std::string::npos) << other.error().message;
  const auto endless = spread({1}, {INFINITY});
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, ErrorCode::kFormatError);
}

// A matrix as codes and scales, in the next layout, and its values in F32.
struct F8Tensor {
  std::string scale_name;
  std::vector<std::byte> codes;
  std::vector<uint64_t> scale_shape;
  std::vector<float> scales, values;
};

F8Tensor f8_of(const TensorInfo& tensor, uint32_t layout) {
  const uint64_t n_rows = tensor.shape[0], n_cols = tensor.shape[1];
  F8Tensor f8;
  f8.values.resize(n_rows * n_cols);
  traits(tensor.type).decode(tensor.data.data(), f8.values.data(), f8.values.size());
  f8.scale_name = tensor.name + (layout == 2 ? "_scale_inv" : "_scale");
  if (layout == 0) f8.scale_shape = {1};
  if (layout == 1) f8.scale_shape = {n_rows, 1};
  if (layout == 2) f8.scale_shape = {(n_rows + 127) / 128, (n_cols + 127) / 128};
  const uint64_t n_scales =
      std::accumulate(f8.scale_shape.begin(), f8.scale_shape.end(), uint64_t{1}, std::multiplies());
  for (uint64_t i = 0; i < n_scales; ++i) f8.scales.push_back(0.001f * static_cast<float>(i % 7 + 1));
  f8.codes.resize(f8.values.size());
  for (uint64_t i = 0; i < f8.values.size(); ++i) {
    const uint64_t row = i / n_cols, block = row / 128 * f8.scale_shape.back() + i % n_cols / 128;
    const float scale = f8.scales[layout == 0 ? 0 : layout == 1 ? row : block];
    const uint8_t code = float_to_f8_e4m3(f8.values[i] / scale);
    f8.codes[i] = std::byte{code};
    f8.values[i] = f8_e4m3_to_float(code) * scale;
  }
  return f8;
}

class F8Model : public testing::Test {
 protected:
  // One model twice: its projections in F8, and as the corresponding F32 values.
  void SetUp() override {
    const fs::path from = fs::path(source_file("tests/data/conformance/qwen3moe-hf"));
    for (const fs::path& folder : {f8_, plain_}) {
      fs::create_directories(folder);
      fs::copy_file(from / "config.json", folder / "config.json", fs::copy_options::overwrite_existing);
    }
    const auto file = ModelFile::open(from);
    ASSERT_TRUE(file.ok()) << file.error().message;
    SafetensorsWriter f8, plain;
    uint32_t n_projections = 0;
    for (const TensorInfo& tensor : file->tensors()) {
      if (tensor.name.ends_with("_proj.weight")) {
        const F8Tensor made = f8_of(tensor, n_projections++ % 3);
        f8.add(tensor.name, "F8_E4M3", tensor.shape, made.codes);
        f8.add(made.scale_name, "F32", made.scale_shape, bytes_of(made.scales));
        plain.add(tensor.name, "F32", tensor.shape, bytes_of(made.values));
      } else {
        for (SafetensorsWriter* writer : {&f8, &plain}) {
          writer->add(tensor.name, traits(tensor.type).name.data(), tensor.shape, tensor.data);
        }
      }
    }
    const std::vector<float> unused = {3.0f};
    f8.add("model.layers.0.self_attn.q_proj.input_scale", "F32", {}, bytes_of(unused));
    f8.write(f8_ / "model.safetensors");
    plain.write(plain_ / "model.safetensors");
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::vector<float> logits(const fs::path& folder, std::unique_ptr<Backend> backend) {
    const auto file = ModelFile::open(folder);
    if (!file.ok()) ADD_FAILURE() << file.error().message;
    auto driver = StepDriver::open(*file, std::move(backend), 64);
    if (!driver.ok()) ADD_FAILURE() << driver.error().message;
    std::vector<int> ids(24);
    std::iota(ids.begin(), ids.end(), 5);
    return *(*driver)->run(ids, 16, 16);
  }

  fs::path root_ = fs::path(testing::TempDir()) / ("realizar_f8_model_" + std::to_string(::getpid()));
  fs::path f8_ = root_ / "f8", plain_ = root_ / "plain";
};

TEST_F(F8Model, HasTheLogitsOfItsValues) {
  const auto expected = logits(plain_, make_reference_backend());
  EXPECT_EQ(logits(f8_, make_reference_backend()), expected);
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  const auto near_expected = [&](const std::vector<float>& actual) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4f * (*high - *low)) << i;
  };
  near_expected(logits(f8_, *cpu::make_cpu_backend({.n_threads = 2})));
  auto cuda = make_emulated_cuda(1);
  if (cuda.ok()) near_expected(logits(f8_, std::move(*cuda)));
}

}  // namespace
}  // namespace realizar::test
