// The maximum difference of an operation's result from the reference, derived from its arithmetic. Every rounding of a
// backend is bounded by some e_i and has either sign, so a sum of them is sub-Gaussian with parameter
// sigma = sqrt(sum e_i^2) (Hoeffding), and a test allows kSigmas of it: chance exceeds that once in 3e7 outputs, and a
// mistake of one quantization step in one term nearly always does.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "support/test_weights.h"

namespace realizar::test {

enum class Arithmetic {
  kF32,        // F32 products and sums
  kInt8,       // activations as int8, 32 columns share the scale max|x| / 127; exact dot products; F32 sums of groups
  kBf16,       // weights and activations rounded to bf16, F32 sums
  kSplitBf16,  // each as a sum of two bf16 values, without the product of the smaller ones; F32 sums
};

inline constexpr double kUnit = 0x1p-24;       // half an F32 unit in the last place, relative
inline constexpr double kBf16Unit = 0x1p-9;    // the same of bf16
inline constexpr double kSplitUnit = 0x1p-18;  // the relative loss of splitting a value into two bf16 values
inline constexpr double kTiny = 0x1p-120;      // smaller activations may count as zero in int8 and bf16
inline constexpr double kDenormal = 0x1p-149;  // the smallest F32
inline constexpr double kSigmas = 6;

// The stated errors of exp (relative), tanh and erf (absolute) in F32.
inline constexpr double kExpError = 3e-7;
inline constexpr double kTanhError = 3e-7;
inline constexpr double kErfError = 1e-6;

// An F32 sum of n terms: n roundings, each at most kUnit of the terms' sum of magnitudes, and a few of the terms.
inline double sum_sigma(uint32_t n) {
  return (std::sqrt(static_cast<double>(n)) + 4) * kUnit;
}

// The parameter of row `r` of matrix `mat` . x [n_cols].
double product_sigma(const TestMatrix& m, uint32_t mat, uint32_t r, const float* x, Arithmetic arithmetic);

// |activation(x)|, or a little more.
double activation_size(Activation activation, double x);
// The maximum error of an activation of x, which itself has an error of up to x_error: its slope there, and its own
// roundings.
double activation_error(Activation activation, double x, double x_error);

// Whether |actual - expected| <= bounds everywhere, all [n, n_cols]; otherwise the element that exceeds it most.
testing::AssertionResult within(std::span<const float> actual, std::span<const float> expected,
                                std::span<const double> bounds, uint32_t n_cols);

}  // namespace realizar::test
