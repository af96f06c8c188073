// HQQ's matrices compared with the values that hqq computes from them (tests/data/hqq, made by
// tests/peers/hqq_linears.py), and invalid ones, which are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/model_file.h"
#include "formats/packed_matrix.h"
#include "support/safetensors_writer.h"
#include "support/test_data.h"

namespace realizar::test {
namespace {

namespace fs = std::filesystem;

Result<std::vector<float>> values_of(const TensorInfo& matrix) {
  std::vector<std::byte> blocks(matrix.n_bytes());
  if (Status done = matrix.packed->unpack(0, matrix.n_elems() / matrix.shape.back(), blocks.data()); !done.ok()) {
    return done.error();
  }
  std::vector<float> values(matrix.n_elems());
  traits(matrix.type).decode(blocks.data(), values.data(), values.size());
  return values;
}

TEST(HqqTensors, HaveTheValuesThatHqqComputes) {
  const auto file = ModelFile::open(source_file("tests/data/hqq"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::map<std::string, TypeId> types{{"bits8", TypeId::kF16},    {"bits5", TypeId::kQ5_1},
                                            {"bits4", TypeId::kQ4_1},   {"bits4_axis0", TypeId::kF16},
                                            {"bits3", TypeId::kQ4_1},   {"bits4_across_rows", TypeId::kQ4_1},
                                            {"bits2", TypeId::kF16},    {"bits3_axis0", TypeId::kF16},
                                            {"ternary", TypeId::kQ4_1}, {"bits1", TypeId::kF16}};
  for (const auto& [name, type] : types) {
    const TensorInfo* matrix = file->find(name + ".weight");
    const TensorInfo* expected_tensor = file->find(name + ".expected");
    ASSERT_TRUE(matrix != nullptr && expected_tensor != nullptr) << name;
    EXPECT_EQ(traits(matrix->type).name, traits(type).name) << name;
    ASSERT_EQ(matrix->shape, expected_tensor->shape) << name;
    const auto actual = values_of(*matrix);
    ASSERT_TRUE(actual.ok()) << actual.error().message;
    std::vector<float> expected(actual->size());
    std::memcpy(expected.data(), expected_tensor->data.data(), expected_tensor->data.size());
    // Half of a last bit of F16, of the value or (in blocks) of a scale and of its product with the zero.
    const float largest = std::abs(*std::ranges::max_element(expected, {}, [](float x) { return std::abs(x); }));
    for (size_t i = 0; i < expected.size(); ++i) {
      const float magnitude = type == TypeId::kF16 ? std::abs(expected[i]) : 2 * largest;
      ASSERT_NEAR((*actual)[i], expected[i], 0x1p-11f * magnitude + 0x1p-25f) << name << ' ' << i;
    }
  }
  EXPECT_EQ(file->tensors().size(), 2 * types.size()) << "settings are no tensors of the model";
}

struct Tensor {
  const char* dtype;
  std::vector<uint64_t> shape;
  std::string bytes;
};
using Tensors = std::map<std::string, Tensor>;

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (const T& value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}
Tensor whole(int32_t value) {
  return {"I32", {}, bytes_of({value})};
}
Tensor flag(bool value) {
  return {"U8", {}, std::string(1, value ? '\1' : '\0')};
}

// x, [4, 32] of 4 bits in groups of 32 columns: codes 0, scales of 1 and zeros of 1.5.
Tensors sound_matrix() {
  const std::string ones = bytes_of<uint16_t>({0x3c00, 0x3c00, 0x3c00, 0x3c00});
  const std::string zeros = bytes_of<uint16_t>({0x3e00, 0x3e00, 0x3e00, 0x3e00});
  return {{"x.W_q", {"U8", {2, 32}, std::string(64, '\0')}},
          {"x.scale", {"F16", {4, 1}, ones}},
          {"x.zero", {"F16", {4, 1}, zeros}},
          {"x.shape", {"I64", {2}, bytes_of<int64_t>({4, 32})}},
          {"x.nbits", whole(4)},
          {"x.group_size", whole(32)},
          {"x.axis", whole(1)},
          {"x.packing", {"U8", {7}, "4bit_u8"}},
          {"x.view_as_float", flag(false)}};
}

class HqqRefusals : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // The error of opening the folder, or of unpacking x.weight.
  Result<std::vector<float>> read(const Tensors& tensors) const {
    SafetensorsWriter writer;
    for (const auto& [name, tensor] : tensors) {
      writer.add(name, tensor.dtype, tensor.shape, std::as_bytes(std::span(tensor.bytes)));
    }
    writer.write(folder_ / "model.safetensors");
    std::ofstream(folder_ / "config.json") << R"({"quantization_config": {"quant_method": "hqq"}})";
    const auto file = ModelFile::open(folder_);
    if (!file.ok()) return file.error();
    return values_of(*file->find("x.weight"));
  }
  void expect_refused(ErrorCode code, const char* text, const std::function<void(Tensors&)>& change) const {
    Tensors tensors = sound_matrix();
    change(tensors);
    const auto values = read(tensors);
    ASSERT_FALSE(values.ok()) << text;
    EXPECT_EQ(values.error().code, code) << values.error().message;
    EXPECT_NE(values.error().message.find(text), std::string::npos) << values.error().message << "\nwants " << text;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("realizar_hqq_" + std::to_string(::getpid()));
};

TEST_F(HqqRefusals, AreNotOfASoundMatrix) {
  const auto values = read(sound_matrix());
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ(*values, std::vector<float>(128, -1.5f));
}

TEST_F(HqqRefusals, NameSettingsThatAreNotSupported) {
  const auto refused = [&](const char* text, const char* name, const Tensor& tensor) {
    expect_refused(ErrorCode::kUnsupported, text, [&](Tensors& tensors) { tensors[name] = tensor; });
  };
  refused("'x.nbits': hqq of 7 bits", "x.nbits", whole(7));
  refused("'x.nbits': hqq of -4 bits", "x.nbits", whole(-4));
  refused("'x.nbits': hqq of 1.5 bits", "x.nbits", {"F32", {}, bytes_of({1.5f})});
  refused("'x.packing': a packing of '4bit_32' is not supported for 4 bits (4bit_u8 is)", "x.packing",
          {"U8", {7}, "4bit_32"});
  refused("'x.axis': an axis of 2", "x.axis", whole(2));
  refused("'x.group_size': groups of 0", "x.group_size", whole(0));
  refused("'x.group_size': groups of -32", "x.group_size", whole(-32));
  refused("'x.quant_scale': scales and zeros that are quantized", "x.quant_scale", flag(true));
  refused("'x.quant_zero': scales and zeros that are quantized", "x.quant_zero", flag(true));
  refused("'x.channel_wise': one scale for all of a matrix", "x.channel_wise", flag(false));
}

TEST_F(HqqRefusals, NameTensorsThatAreMissing) {
  for (const char* name : {"x.scale", "x.zero", "x.shape", "x.nbits", "x.group_size", "x.axis"}) {
    // Without "nbits", settings are looked up in the config, which has none here.
    const std::string text = std::string("tensor '") + name + "' is missing";
    expect_refused(ErrorCode::kFormatError, text.c_str(), [&](Tensors& tensors) { tensors.erase(name); });
  }
}

TEST_F(HqqRefusals, NameTensorsOfAnotherShapeOrType) {
  const auto refused = [&](const char* text, const char* name, const Tensor& tensor) {
    expect_refused(ErrorCode::kFormatError, text, [&](Tensors& tensors) { tensors[name] = tensor; });
  };
  refused("'x.W_q': expected U8 [2, 32], actual U8 [4, 16]", "x.W_q", {"U8", {4, 16}, std::string(64, '\0')});
  refused("'x.W_q': expected U8 [2, 32], actual I32 [2, 32]", "x.W_q", {"I32", {2, 32}, std::string(256, '\0')});
  refused("'x.W_q': expected F16 or BF16 or F32 [2, 16], actual U8 [2, 32]", "x.view_as_float", flag(true));
  refused("'x.view_as_float': a shape of [2]", "x.view_as_float", {"U8", {2}, "ab"});
  refused("'x.scale': expected F16 or BF16 or F32 [4, 1], actual F16 [4]", "x.scale",
          {"F16", {4}, std::string(8, 'a')});
  refused("'x.W_q': expected U8 [16, 4], actual U8 [2, 32]", "x.axis", whole(0));
  refused("'x.zero': expected F16 [4, 1], actual BF16 [4, 1]", "x.zero", {"BF16", {4, 1}, std::string(8, 'a')});
  refused("'x.zero_scale': expected F16 or BF16 or F32 [2, 4, 1], actual U8 [2, 4, 1]", "x.zero_scale",
          {"U8", {2, 4, 1}, std::string(8, 'a')});
  refused("'x.shape': expected I64 or I32 [2], actual I64 [3]", "x.shape", {"I64", {3}, bytes_of<int64_t>({4, 32, 1})});
  refused("'x.shape': a shape of [0, 32]", "x.shape", {"I64", {2}, bytes_of<int64_t>({0, 32})});
  refused("'x.shape': a shape of", "x.shape", {"I64", {2}, bytes_of<int64_t>({-4, 32})});
  refused("'x.W_q': expected U8 [72057592897077249, 32]", "x.shape",
          {"I64", {2}, bytes_of<int64_t>({0x7ffffffe, 0x7fffffff - 31})});
  refused("'x.shape': a shape of [4, 32]", "x.group_size", whole(48));
  refused("'x.shape': a shape of [3, 32]", "x.shape", {"I64", {2}, bytes_of<int64_t>({3, 32})});
  refused("'x.nbits': expected I32 or F32, actual U8 [1]", "x.nbits", {"U8", {1}, "\4"});
  refused("'x.nbits': a shape of [2]", "x.nbits", {"I32", {2}, bytes_of<int32_t>({4, 4})});
}

TEST_F(HqqRefusals, NameMatricesWhoseValuesNoTypeHolds) {
  expect_refused(ErrorCode::kFormatError, "tensor 'x.weight': row 2: expected codes up to 31", [](Tensors& tensors) {
    tensors["x.nbits"] = whole(5);
    tensors.erase("x.packing");
    tensors["x.W_q"] = {"U8", {4, 32}, std::string(64, '\1') + std::string(64, '\x20')};
  });
  const std::string infinite = bytes_of<uint16_t>({0x3c00, 0x7c00, 0x3c00, 0x3c00});
  expect_refused(ErrorCode::kFormatError, "tensor 'x.weight': a scale, or its product with a zero",
                 [&](Tensors& tensors) { tensors["x.scale"].bytes = infinite; });
  expect_refused(ErrorCode::kFormatError, "tensor 'x.weight': a scale, or its product with a zero",
                 [&](Tensors& tensors) {
                   tensors["x.zero"] = {"F32", {4, 1}, bytes_of<float>({1e5f, 1, 1, 1})};
                   tensors["x.scale"] = {"F32", {4, 1}, bytes_of<float>({1, 1, 1, 1})};
                 });
}

}  // namespace
}  // namespace realizar::test
