#include "quant/fit/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "quant/half.h"

namespace realizar {
namespace {

std::vector<float> normal_values(size_t n, uint32_t seed = 1, float scale = 0.02f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

std::vector<float> some_weights(size_t n) {
  std::mt19937 generator(2);
  std::exponential_distribution<float> exponential(1);
  std::vector<float> weights(n);
  for (float& weight : weights) weight = exponential(generator);
  return weights;
}

std::vector<float> decoded(const TypeTraits& type, const std::vector<std::byte>& blocks, size_t n) {
  std::vector<float> values(n);
  type.decode(blocks.data(), values.data(), n);
  return values;
}

std::vector<float> fitted(const TypeTraits& type, const std::vector<float>& x, const float* weights = nullptr) {
  std::vector<std::byte> blocks(row_bytes(type, x.size()));
  fit_blocks(type.id, x.data(), weights, blocks.data(), x.size());
  return decoded(type, blocks, x.size());
}

std::vector<float> encoded(const TypeTraits& type, const std::vector<float>& x) {
  std::vector<std::byte> blocks(row_bytes(type, x.size()));
  type.encode(x.data(), blocks.data(), x.size());
  return decoded(type, blocks, x.size());
}

double squared_error(const std::vector<float>& x, const std::vector<float>& y, const float* weights = nullptr) {
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (weights == nullptr ? 1.0 : weights[i]) * (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
  }
  return error;
}

bool is_searched(const TypeTraits& type) {
  return type.block_elems > 1 && type.id != TypeId::kQ8_K && type.id != TypeId::kNVFP4;
}

TEST(Fit, ASearchLeavesNoMoreErrorThanRounding) {
  for (const auto& x : {normal_values(256 * 16), normal_values(256 * 16, 3, 50.0f)}) {
    for (const TypeTraits& type : all_types()) {
      if (!is_searched(type)) continue;
      // For signs and ternary levels a search cannot improve on encode().
      EXPECT_LE(squared_error(x, fitted(type, x)), 1.0001 * squared_error(x, encoded(type, x))) << type.name;
    }
  }
}

TEST(Fit, ImportanceMovesTheErrorToWhereItCostsLess) {
  const auto x = normal_values(256 * 16), weights = some_weights(256 * 16);
  for (const TypeTraits& type : all_types()) {
    if (!is_searched(type) || type.id == TypeId::kQ8_0 || type.id == TypeId::kMXFP4) continue;
    const double without = squared_error(x, fitted(type, x), weights.data());
    EXPECT_LT(squared_error(x, fitted(type, x, weights.data()), weights.data()), without) << type.name;
  }
}

double along(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += double{x[i]} * y[i];
  return sum;
}

// The least-squares scale for the same codes would shrink a matrix by up to a fifth.
TEST(Fit, TypesOfFewBitsKeepMostOfAMatrixsSize) {
  const auto x = normal_values(256 * 64);
  for (const TypeId id : {TypeId::kIQ1_S, TypeId::kIQ1_M, TypeId::kIQ2_XXS, TypeId::kIQ2_XS, TypeId::kIQ2_S,
                          TypeId::kQ2_K, TypeId::kIQ3_XXS, TypeId::kIQ3_S, TypeId::kQ3_K}) {
    const auto y = fitted(traits(id), x);
    const double size = along(x, y) / along(x, x), of_least_squares = along(x, y) / along(y, y) * size;
    EXPECT_LT(of_least_squares, 0.99) << traits(id).name;
    EXPECT_LT(1 - size, 0.3 * (1 - of_least_squares)) << traits(id).name;
    EXPECT_LT(size, 1.0) << traits(id).name;
  }
}

TEST(Fit, EqualWeightsChangeNothing) {
  const auto x = normal_values(256 * 4);
  for (const float weight : {1.0f, 0.25f, 0x1p40f}) {
    const std::vector<float> weights(x.size(), weight);
    for (const TypeTraits& type : all_types()) EXPECT_EQ(fitted(type, x, weights.data()), fitted(type, x)) << type.name;
  }
}

// Values that a type represents exactly are kept: decoded blocks, fitted again.
TEST(Fit, WhatATypeHoldsExactlyIsKept) {
  for (const TypeId id : {TypeId::kQ8_0, TypeId::kTQ1_0, TypeId::kTQ2_0, TypeId::kQ1_0, TypeId::kMXFP4}) {
    const TypeTraits& type = traits(id);
    const auto held = encoded(type, normal_values(256 * 8));
    EXPECT_EQ(fitted(type, held), held) << type.name;
  }
  std::mt19937 generator(5);
  for (const auto& [id, low, high] :
       {std::tuple{TypeId::kQ4_0, -8, 7}, {TypeId::kQ5_0, -16, 15}, {TypeId::kQ4_1, 0, 15}, {TypeId::kQ5_1, 0, 31}}) {
    std::vector<float> held(256);
    for (float& value : held) {
      value = 0.125f * static_cast<float>(low + static_cast<int>(generator() % static_cast<uint32_t>(high - low + 1)));
    }
    for (size_t i = 0; i < held.size(); i += 32) {  // every block has both ends
      held[i] = 0.125f * static_cast<float>(low);
      held[i + 1] = 0.125f * static_cast<float>(high);
    }
    EXPECT_EQ(fitted(traits(id), held), held) << traits(id).name;
  }
}

// The least error of any scale for one block of Q4_0, by trying every half and both roundings.
double least_error_of_q4_0(const std::vector<float>& x) {
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float d = fp16_to_float(static_cast<uint16_t>(bits));
    if (!std::isfinite(d) || d == 0 || std::fabs(d) > 1) continue;
    double error = 0;
    for (const float value : x) {
      const double q = std::clamp(std::nearbyint(double{value} / d), -8.0, 7.0);
      error += (value - d * q) * (value - d * q);
    }
    least = std::min(least, error);
  }
  return least;
}

TEST(Fit, TheSearchComesNearTheBestOfAllScales) {
  double searched = 0, best = 0;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    const auto x = normal_values(32, seed + 10);
    searched += squared_error(x, fitted(traits(TypeId::kQ4_0), x));
    best += least_error_of_q4_0(x);
  }
  EXPECT_GE(searched, best * 0.9999);
  EXPECT_LE(searched, best * 1.06);
}

TEST(Fit, ZerosTinyAndHugeValuesGiveFiniteBlocks) {
  for (const TypeTraits& type : all_types()) {
    const std::vector<float> zeros(512, 0.0f);
    EXPECT_EQ(fitted(type, zeros), zeros) << type.name;
    if (!is_searched(type)) continue;
    std::vector<float> x = normal_values(512);
    for (const float scale : {1e-30f, std::numeric_limits<float>::denorm_min() / 0.02f, 1e30f}) {
      auto scaled = x;
      for (float& value : scaled) value *= scale;
      for (const float value : fitted(type, scaled)) ASSERT_TRUE(std::isfinite(value)) << type.name << " " << scale;
    }
    x.assign(512, 0.0f);
    x[77] = -0.5f;                                                    // a single value
    EXPECT_LT(squared_error(x, fitted(type, x)), 0.25) << type.name;  // the error of zeros
  }
}

TEST(Fit, ColumnsWithoutImportanceMayHoldAnything) {
  const auto x = normal_values(512);
  std::vector<float> weights(512, 0.0f);
  for (size_t i = 0; i < 512; i += 2) weights[i] = 1;
  for (const TypeTraits& type : all_types()) {
    for (const float value : fitted(type, x, weights.data())) ASSERT_TRUE(std::isfinite(value)) << type.name;
    EXPECT_EQ(fitted(type, x, std::vector<float>(512, 0.0f).data()), fitted(type, x)) << type.name;
  }
}

TEST(Fit, ReadingTellsWhatIsNoNumber) {
  std::vector<float> out(512);
  for (const TypeId id : {TypeId::kF32, TypeId::kF16, TypeId::kBF16}) {
    const TypeTraits& type = traits(id);
    auto x = normal_values(512, 7, 1.0f);
    x[3] = 3e-8f;  // a subnormal half
    std::vector<std::byte> stored(row_bytes(type, x.size()));
    type.encode(x.data(), stored.data(), x.size());
    ASSERT_TRUE(read_finite(id, stored.data(), out.data(), x.size())) << type.name;
    EXPECT_EQ(out, decoded(type, stored, x.size())) << type.name;
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
      auto with_bad = x;
      with_bad[511] = bad;
      type.encode(with_bad.data(), stored.data(), x.size());
      EXPECT_FALSE(read_finite(id, stored.data(), out.data(), x.size())) << type.name << " " << bad;
    }
  }
}

}  // namespace
}  // namespace realizar
