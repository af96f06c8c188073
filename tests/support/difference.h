// How far the logits of two runs are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace realizar::test {

// The largest difference, as a share of the range of `expected`; infinite if one is not a number.
inline double difference(std::span<const float> expected, std::span<const float> actual) {
  if (expected.size() != actual.size() || expected.empty()) return INFINITY;
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double one = std::fabs(double{expected[i]} - actual[i]);
    largest = std::isnan(one) ? INFINITY : std::max(largest, one);
  }
  return largest / (*high - *low);
}

}  // namespace realizar::test
