// How many prompt tokens a step may take while other sequences decode. One prompt alone may stretch the time between
// their tokens to at most kStretch times that of a step which only decodes; the more prompts wait for each decoding
// sequence, the longer a step may be, so that a full server works on what it lacks. Learns from the steps' durations;
// it decides how fast tokens come, never which.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace realizar {

class StepBudget {
 public:
  explicit StepBudget(uint32_t max_tokens) : max_tokens_(max_tokens) {}

  // `n_prompts`: those that are being computed or wait. 0 asks for a step that only decodes, to learn what it costs.
  uint32_t bulk_tokens(uint32_t n_decode_rows, uint32_t n_prompts) const {
    const Cost& cost = costs_[bucket(n_decode_rows)];
    if (cost.ms == 0 || cost.n_mixed_since >= kMixedSteps) return 0;
    if (bulk_token_ms_ == 0) return std::min(kStart, max_tokens_);
    const uint32_t n_more = std::max(n_prompts, 1u) - 1;
    const double stretch = std::min(kStretch + kBacklog * n_more / n_decode_rows, kMaxStretch);
    const double n_tokens = (stretch - 1) * cost.ms / bulk_token_ms_;
    return static_cast<uint32_t>(std::clamp(n_tokens, double{kLeast}, static_cast<double>(max_tokens_)));
  }

  // A step that computed n_decode_rows and n_bulk prompt tokens beside them took `ms`.
  void observe(uint32_t n_decode_rows, uint32_t n_bulk, double ms) {
    if (n_decode_rows == 0) return;
    Cost& cost = costs_[bucket(n_decode_rows)];
    if (n_bulk == 0) {
      learn(cost.ms, ms);
      cost.n_mixed_since = 0;
      return;
    }
    ++cost.n_mixed_since;
    if (cost.ms > 0) learn(bulk_token_ms_, std::max(ms - cost.ms, kLeastTokenMs) / n_bulk);
  }

 private:
  // Below 2, so that the noise of single steps stays within twice the time.
  static constexpr double kStretch = 1.7;
  static constexpr double kMaxStretch = 3.5;
  static constexpr double kBacklog = 4;  // how much further prompts stretch a step, shared by the decoding sequences
  static constexpr uint32_t kStart = 16, kLeast = 4;
  static constexpr uint32_t kMixedSteps = 64;  // after so many the cost of decoding alone is measured again
  static constexpr double kLeastTokenMs = 1e-3;

  struct Cost {
    double ms = 0;  // of a step that only decodes; 0: not known
    uint32_t n_mixed_since = 0;
  };
  // Powers of two: costs within one are alike.
  static size_t bucket(uint32_t n_decode_rows) { return static_cast<size_t>(std::bit_width(n_decode_rows)); }
  static void learn(double& mean, double value) { mean = mean == 0 ? value : mean + (value - mean) * 0.2; }

  uint32_t max_tokens_;
  double bulk_token_ms_ = 0;  // what a prompt token adds to a step; 0: not known
  std::array<Cost, 33> costs_{};
};

}  // namespace realizar
