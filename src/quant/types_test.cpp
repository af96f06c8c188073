#include "quant/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "quant/half.h"

namespace realizar {
namespace {

std::vector<float> random_values(size_t n, float scale) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

std::vector<float> round_trip(const TypeTraits& type, const std::vector<float>& values) {
  std::vector<std::byte> blocks(row_bytes(type, values.size()));
  type.encode(values.data(), blocks.data(), values.size());
  std::vector<float> decoded(values.size());
  type.decode(blocks.data(), decoded.data(), values.size());
  return decoded;
}

double relative_rms_error(const std::vector<float>& values, const std::vector<float>& decoded) {
  double error = 0, power = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error += std::pow(values[i] - decoded[i], 2.0);
    power += std::pow(values[i], 2.0);
  }
  return std::sqrt(error / power);
}

// The error of a quantizer with that many levels for normally distributed values, plus a fifth.
const std::map<std::string_view, double> kErrorBound = {
    {"F32", 0},       {"F16", 3e-4},    {"BF16", 2.5e-3},  {"Q8_0", 6.5e-3}, {"Q6_K", 0.022},    {"Q5_K", 0.042},
    {"Q5_1", 0.048},  {"Q5_0", 0.052},  {"Q4_K", 0.088},   {"Q4_1", 0.098},  {"Q4_0", 0.105},    {"IQ4_NL", 0.09},
    {"IQ4_XS", 0.09}, {"MXFP4", 0.14},  {"Q3_K", 0.21},    {"Q2_K", 0.38},   {"F8_E4M3", 0.028}, {"Q8_K", 8.2e-3},
    {"IQ3_S", 0.195}, {"IQ2_XS", 0.44}, {"IQ2_XXS", 0.47}, {"IQ2_S", 0.35},  {"IQ3_XXS", 0.24},  {"IQ1_S", 0.57},
    {"IQ1_M", 0.52},  {"TQ1_0", 0.48},  {"TQ2_0", 0.48},   {"Q1_0", 0.62},   {"Q2_0", 0.44},     {"NVFP4", 0.105}};

TEST(Types, EncodeThenDecodeKeepsWhatTheTypesLevelsCanTell) {
  const auto values = random_values(256 * 64, 0.5f);  // within the range of E4M3 without a scale
  for (const TypeTraits& type : all_types()) {
    EXPECT_LE(relative_rms_error(values, round_trip(type, values)), kErrorBound.at(type.name)) << type.name;
  }
}

struct DecodedByGgml {
  TypeId type;
  size_t at;
  std::vector<uint8_t> scales;  // the block's bytes from `at` on
  uint64_t hash;                // FNV-1a of the values' bytes
};

// 64 blocks of arbitrary bytes, except for the scales. The hashes are of the results of ggml's dequantize_row_*, in
// llama.cpp v0.5.0.
TEST(Types, BlocksOfAnyBytesDecodeAsGgmlDecodesThem) {
  const DecodedByGgml rows[] = {
      {TypeId::kQ4_0, 0, {0x00, 0x2c}, 0x544b5b637a516ef1u},
      {TypeId::kQ4_1, 0, {0x00, 0x2c, 0x31, 0xa8}, 0x16d143e1d60f96b8u},
      {TypeId::kQ5_0, 0, {0x00, 0x2c}, 0xc0b05b6dd7fa7518u},
      {TypeId::kQ5_1, 0, {0x00, 0x2c, 0x31, 0xa8}, 0x754406ab354ecf82u},
      {TypeId::kQ8_0, 0, {0x00, 0x2c}, 0x917220c429cbcfa5u},
      {TypeId::kQ2_K, 80, {0x00, 0x2c, 0x31, 0x28}, 0xec4be5bb379d40cfu},
      {TypeId::kQ3_K, 108, {0x00, 0x2c}, 0x1261b82551a85ff4u},
      {TypeId::kQ4_K, 0, {0x00, 0x2c, 0x31, 0x28}, 0x5e04b42c490a10dau},
      {TypeId::kQ5_K, 0, {0x00, 0x2c, 0x31, 0x28}, 0xedad78d36ffaeee8u},
      {TypeId::kQ6_K, 208, {0x00, 0x2c}, 0x61f7ffa084091dc4u},
      {TypeId::kQ8_K, 0, {0x00, 0x00, 0xc0, 0x3f}, 0xbb07a991fd388c56u},
      {TypeId::kIQ2_XXS, 0, {0x00, 0x2c}, 0x06336893a15def26u},
      {TypeId::kIQ2_XS, 0, {0x00, 0x2c}, 0x6a6e62ee0ccd33deu},
      {TypeId::kIQ3_XXS, 0, {0x00, 0x2c}, 0x256ff8c2eb17af69u},
      {TypeId::kIQ1_S, 0, {0x00, 0x2c}, 0x964ec63ac36ad66eu},
      {TypeId::kIQ4_NL, 0, {0x00, 0x2c}, 0xc9efb24b1b8873d1u},
      {TypeId::kIQ3_S, 0, {0x00, 0x2c}, 0x6b1c393e85c204a3u},
      {TypeId::kIQ2_S, 0, {0x00, 0x2c}, 0x5bdd2a18ea922edeu},
      {TypeId::kIQ4_XS, 0, {0x00, 0x2c}, 0x5f85994bb395c379u},
      {TypeId::kIQ1_M, 48, {0x31, 0x0a, 0x75, 0x05, 0xd2, 0xc9, 0x4b, 0x2e}, 0xba6a2c668c21224fu},
      {TypeId::kTQ1_0, 52, {0x00, 0x2c}, 0x1e1f4b832ac7e755u},
      {TypeId::kTQ2_0, 64, {0x00, 0x2c}, 0xbebe3c7283fa2b0bu},
      {TypeId::kMXFP4, 0, {0x79}, 0xcf6f20e886147ae2u},
      {TypeId::kNVFP4, 0, {0x38, 0x05, 0x7e, 0x21}, 0xcaa3d1ad3617036fu},
      {TypeId::kQ1_0, 0, {0x00, 0x2c}, 0x593e7d6bc187c9a5u},
      {TypeId::kQ2_0, 0, {0x00, 0x2c}, 0xa9a56e7179ead58eu}};
  EXPECT_EQ(std::size(rows),
            std::ranges::count_if(all_types(), [](const TypeTraits& type) { return type.block_elems > 1; }));
  for (const DecodedByGgml& row : rows) {
    const TypeTraits& type = traits(row.type);
    std::vector<std::byte> blocks(size_t{64} * type.block_bytes);
    uint64_t state = 7;
    for (std::byte& byte : blocks) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = std::byte(state >> 56);
    }
    for (size_t i = 0; i < 64; ++i) {
      std::memcpy(&blocks[i * type.block_bytes + row.at], row.scales.data(), row.scales.size());
    }
    std::vector<float> values(size_t{64} * type.block_elems);
    type.decode(blocks.data(), values.data(), values.size());
    uint64_t hash = 0xcbf29ce484222325u;
    for (const std::byte byte : std::as_bytes(std::span(values))) {
      hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3u;
    }
    EXPECT_EQ(hash, row.hash) << type.name;
  }
}

TEST(Types, ZeroStaysZeroAndNothingIsNaN) {
  const std::vector<float> zeros(512, 0.0f);
  for (const TypeTraits& type : all_types()) EXPECT_EQ(round_trip(type, zeros), zeros) << type.name;
}

// Models trained with ternary weights lose nothing.
TEST(Types, TernaryWeightsAreKeptExactly) {
  std::mt19937 generator(3);
  std::vector<float> values(1024);
  for (float& value : values) value = 0.75f * (static_cast<float>(generator() % 3) - 1);
  for (const TypeId id : {TypeId::kTQ1_0, TypeId::kTQ2_0, TypeId::kQ2_0}) {
    EXPECT_EQ(round_trip(traits(id), values), values) << traits(id).name;
  }
}

TEST(Types, TheTableIsConsistent) {
  for (const TypeTraits& type : all_types()) {
    EXPECT_EQ(traits(type.id).name, type.name);
    const auto number = static_cast<uint32_t>(type.id);
    EXPECT_EQ(type_from_number(number).has_value(), is_in_gguf(type.id)) << type.name;
    EXPECT_EQ(type_name_for_message(number) == type.name, is_in_gguf(type.id)) << type.name;
  }
  EXPECT_FALSE(type_from_number(9).has_value());
  EXPECT_EQ(type_name_for_message(9), "Q8_1");
  EXPECT_EQ(type_name_for_message(4000000), "type 4000000");
}

TEST(Half, EveryBitPatternSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = fp16_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(fp16_to_float(float_to_fp16(value))));
    } else {
      ASSERT_EQ(float_to_fp16(value), bits);
    }
    if (!std::isnan(bf16_to_float(static_cast<uint16_t>(bits)))) {
      ASSERT_EQ(float_to_bf16(bf16_to_float(static_cast<uint16_t>(bits))), bits);
    }
  }
}

// The nearest half, by search among all finite ones, ties to the even mantissa.
uint16_t nearest_half(float value) {
  uint16_t best = 0;
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double now = std::fabs(double{fp16_to_float(static_cast<uint16_t>(bits))} - value);
    const double before = std::fabs(double{fp16_to_float(best)} - value);
    if (now < before || (now == before && bits % 2 == 0)) best = static_cast<uint16_t>(bits);
  }
  return best;
}

TEST(Half, RoundsToNearestEven) {
  std::mt19937 generator(2);
  std::uniform_real_distribution<float> exponent(-26, 15.9f);
  for (int i = 0; i < 200; ++i) {
    const float value = std::exp2(exponent(generator));
    EXPECT_EQ(float_to_fp16(value), nearest_half(value)) << value;
    EXPECT_EQ(float_to_fp16(-value), 0x8000u | nearest_half(value)) << value;
  }
  EXPECT_EQ(float_to_fp16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_fp16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_fp16(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(float_to_fp16(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
}

// Values of the specification's table: the bits are sign, exponent, mantissa.
TEST(E4M3, HasTheValuesOfItsSpecification) {
  EXPECT_EQ(f8_e4m3_to_float(0b0'0000'001), 0x1p-9f);
  EXPECT_EQ(f8_e4m3_to_float(0b0'0000'111), 0.875f * 0x1p-6f);
  EXPECT_EQ(f8_e4m3_to_float(0b0'0001'000), 0x1p-6f);
  EXPECT_EQ(f8_e4m3_to_float(0b1'0111'000), -1.0f);
  EXPECT_EQ(f8_e4m3_to_float(0b0'1111'110), 448.0f);
  EXPECT_TRUE(std::isnan(f8_e4m3_to_float(0b0'1111'111)));
  EXPECT_TRUE(std::isnan(f8_e4m3_to_float(0b1'1111'111)));
  EXPECT_EQ(float_to_f8_e4m3(NAN), 0x7f);
  EXPECT_EQ(float_to_f8_e4m3(1e9f), 0b0'1111'110);
  EXPECT_EQ(float_to_f8_e4m3(-INFINITY), 0b1'1111'110);
}

TEST(E4M3, RoundsToTheNearestTiesToEven) {
  for (uint32_t code = 0; code + 1 < 0x7f; ++code) {
    const float value = f8_e4m3_to_float(static_cast<uint8_t>(code));
    const float next = f8_e4m3_to_float(static_cast<uint8_t>(code + 1)), middle = (value + next) / 2;
    ASSERT_LT(value, next);
    ASSERT_EQ(float_to_f8_e4m3(value), code);
    ASSERT_EQ(float_to_f8_e4m3(-value), code | 0x80u);
    ASSERT_EQ(float_to_f8_e4m3(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(float_to_f8_e4m3(std::nextafter(middle, 1e9f)), code + 1);
    ASSERT_EQ(float_to_f8_e4m3(middle), code + code % 2);
  }
}

}  // namespace
}  // namespace realizar
