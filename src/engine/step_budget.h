// How many prompt tokens a step may take while other sequences decode, so that the time between their tokens stays
// even: the step should last at most kStretch times one that only decodes. Learns from the steps' durations; it decides
// how fast tokens come, never which.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace realizar {

class StepBudget {
 public:
  explicit StepBudget(uint32_t max_tokens) : max_tokens_(max_tokens), n_tokens_(kStart) {}

  // 0 asks for a step that only decodes, to learn what it costs.
  uint32_t bulk_tokens(uint32_t n_decode_rows) const {
    const Cost& cost = costs_[bucket(n_decode_rows)];
    if (cost.ms == 0 || cost.n_mixed_since >= kMixedSteps) return 0;
    return std::min(max_tokens_, static_cast<uint32_t>(n_tokens_));
  }

  // A step that computed n_decode_rows and n_bulk prompt tokens beside them took `ms`.
  void observe(uint32_t n_decode_rows, uint32_t n_bulk, double ms) {
    if (n_decode_rows == 0) return;
    Cost& cost = costs_[bucket(n_decode_rows)];
    if (n_bulk == 0) {
      cost.ms = cost.ms == 0 ? ms : cost.ms + (ms - cost.ms) * kLearn;
      cost.n_mixed_since = 0;
      return;
    }
    ++cost.n_mixed_since;
    if (cost.ms == 0 || n_bulk + 1 < static_cast<uint32_t>(n_tokens_)) return;  // it says nothing about the limit
    const double stretch = ms / cost.ms;
    n_tokens_ *= stretch > kStretch ? 0.8 : stretch < 0.9 * kStretch ? 1.1 : 1.0;
    n_tokens_ = std::clamp(n_tokens_, double{kLeast}, static_cast<double>(max_tokens_) + 1);
  }

 private:
  // Below 2, so that the noise of single steps stays within twice the time.
  static constexpr double kStretch = 1.7, kLearn = 0.2;
  static constexpr uint32_t kStart = 16, kLeast = 4;
  static constexpr uint32_t kMixedSteps = 64;  // after so many the cost of decoding alone is measured again

  struct Cost {
    double ms = 0;  // of a step that only decodes; 0: not known
    uint32_t n_mixed_since = 0;
  };
  // Powers of two: costs within one are alike.
  static size_t bucket(uint32_t n_decode_rows) { return static_cast<size_t>(std::bit_width(n_decode_rows)); }

  uint32_t max_tokens_;
  double n_tokens_;
  std::array<Cost, 33> costs_{};
};

}  // namespace realizar
