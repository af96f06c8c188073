#include "support/error_model.h"

#include <algorithm>

namespace realizar::test {

double product_sigma(const TestMatrix& m, uint32_t mat, uint32_t r, const float* x, Arithmetic arithmetic) {
  constexpr uint32_t kGroup = 32;
  const float *w = m.row(mat, r), *size = m.size_row(mat, r);
  double magnitude = 0, sizes = 0, squares = 0;
  for (uint32_t begin = 0; begin < m.n_cols; begin += kGroup) {
    const uint32_t end = std::min(begin + kGroup, m.n_cols);
    double largest = 0, group_squares = 0;
    for (uint32_t c = begin; c < end; ++c) {
      const double wx = double{w[c]} * x[c];
      magnitude += double{size[c]} * std::fabs(x[c]);
      sizes += size[c];
      largest = std::max(largest, std::fabs(double{x[c]}));
      if (arithmetic == Arithmetic::kInt8) group_squares += double{w[c]} * w[c];
      if (arithmetic == Arithmetic::kBf16) squares += std::pow(2 * kBf16Unit * wx, 2);
      if (arithmetic == Arithmetic::kSplitBf16) squares += std::pow(3 * kSplitUnit * wx, 2);
    }
    squares += std::pow(largest / 127 / 2, 2) * group_squares;  // half a step of each activation
  }
  const double floor = arithmetic == Arithmetic::kF32 ? m.n_cols * kDenormal : kTiny * sizes;
  return std::sqrt(squares + std::pow(sum_sigma(m.n_cols) * magnitude, 2)) + floor;
}

double activation_size(Activation activation, double x) {
  if (activation == Activation::kNormalCdf) return 1;
  return activation == Activation::kReluSquared ? x * x : std::fabs(x);
}

double activation_error(Activation activation, double x, double x_error) {
  const double size = std::fabs(x);
  switch (activation) {
    case Activation::kNone:
    case Activation::kRelu:
      return x_error;
    case Activation::kReluSquared:
      return x > -x_error ? x_error * (2 * size + x_error) + 2 * kUnit * size * size + kDenormal : 0;
    case Activation::kSigmoid:  // 1 / (1 + exp(-x)), nowhere steeper than 1 / 4
      return 0.25 * x_error + (kExpError + 3 * kUnit) + kDenormal;
    case Activation::kXielu:  // its tests have their own bounds
      return 0;
    case Activation::kClampedSwiglu:  // of the gate; as steep as kSilu
    case Activation::kSilu: {         // x / (1 + exp(-x)); exp ends where F32 does, at e^87
      const double own = size / (1 + std::exp(-x)) * (kExpError + 4 * kUnit) + size * std::exp(-87.0) + kDenormal;
      return 1.1 * x_error + own;
    }
    case Activation::kGelu:
      return 1.13 * x_error + size / 2 * (kTanhError + 6 * kUnit) + kDenormal;
    case Activation::kGeluErf:
      return 1.13 * x_error + size / 2 * (kErfError + 6 * kUnit) + kDenormal;
    case Activation::kNormalCdf:
      return 0.4 * x_error + 0.5 * (kErfError + 6 * kUnit);
  }
  return 0;
}

testing::AssertionResult within(std::span<const float> actual, std::span<const float> expected,
                                std::span<const double> bounds, uint32_t n_cols) {
  if (actual.size() != expected.size() || actual.size() != bounds.size()) {
    return testing::AssertionFailure() << actual.size() << " values, expected " << expected.size() << ", bounds "
                                       << bounds.size();
  }
  size_t n_wrong = 0, worst = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double excess = std::fabs(double{actual[i]} - expected[i]) - bounds[i];
    if (excess <= 0) continue;
    if (n_wrong++ == 0 || std::isnan(excess) || excess > worst_excess) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (n_wrong == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << n_wrong << " of " << actual.size() << " values are off; row " << worst / n_cols
                                     << " column " << worst % n_cols << " is " << actual[worst] << ", expected "
                                     << expected[worst] << " within " << bounds[worst];
}

}  // namespace realizar::test
