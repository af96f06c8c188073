// Decides how many prompt tokens a step takes while other sequences decode. That affects how fast tokens come, never
// which.
//
// A step that decodes takes some time D. Prompt tokens in the same step add a fixed part F, whatever their number (if
// the prefill arithmetic unpacks all weights first), and c for each of them. All three are learned from the steps'
// durations, for each range of decode rows. S is the stretch, between kStretch and kMaxStretch: it grows with the
// number of waiting prompts per decoding sequence. The objective:
// - The time between tokens is S x D on average. Steps of S x D each take what fits, if that is worth F.
// - If it is not, one larger chunk is taken that is, and steps that only decode make up for the time.
// - kWorth x F / c tokens are worth it: F is then at most 1 / (1 + kWorth) of what the chunk adds to the step. If
//   small chunks were as fast per token, they have no F, and they are taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/step_cost.h"

namespace realizar::engine {

// The work available for the next step.
struct StepDemand {
  uint32_t n_decoding = 0;       // sequences that decode
  uint32_t n_decode_rows = 0;    // one token each, and their speculative ones
  uint32_t n_prompts = 0;        // running and waiting prompts
  uint32_t n_prompt_tokens = 0;  // missing tokens of the running ones
};

// The work of a step. Replayed tokens are recomputed generated ones.
struct StepWork {
  uint32_t n_decode_rows = 0, n_prompt_tokens = 0, n_replayed_tokens = 0;
};

class StepBudget {
 public:
  // Steps are of the same kind if their numbers of decode rows fall in the same range: 1, 2, 3, 4-5, 6-7, 8-11, 12-15,
  // ...
  static constexpr size_t kKinds = 66;
  static size_t kind_of(uint32_t n_decode_rows);
  struct RowRange {
    uint32_t first, last;
  };
  static RowRange rows_of(size_t kind);  // the inverse

  // Estimates for a kind; 0: none yet.
  struct Costs {
    double decode_ms = 0;        // of a step that only decodes
    double prompt_fixed_ms = 0;  // added by any number of prompt tokens
    double prompt_token_ms = 0;  // added by each of them
  };

  explicit StepBudget(uint32_t max_tokens) : max_tokens_(max_tokens) {}

  // Prompt tokens of the next step. 0: a step that only decodes, to measure its cost or to make up for long ones.
  uint32_t plan(const StepDemand& demand);
  // The last planned step took `ms`.
  void observe(const StepWork& work, double ms);

  Costs costs(size_t kind) const;
  // Estimate for a step of n_rows decode rows: at least the time of the next smaller number of rows that was measured;
  // 0: none was.
  double decode_ms(uint32_t n_rows) const;

 private:
  struct Kind {
    double decode_ms = 0;
    uint32_t n_decodes = 0;      // steps that decode_ms was measured in
    uint32_t n_mixed_since = 0;  // steps with prompt tokens since the last of those
    uint32_t n_mixed = 0;
    StepCost mixed;  // of steps with prompt tokens; its fixed part includes decode_ms
    double few_tokens_per_ms = 0, many_tokens_per_ms = 0;  // for small and large chunks, at the pace

    // The number of prompt tokens that costs as much as the fixed part: F / c.
    double n_fixed_tokens() const;
    bool is_worth_large_chunks() const;
  };

  void adopt_cost(Kind& kind) const;
  static double trial_chunk(const Kind& kind, double n_tokens);
  uint32_t chunk(const Kind& kind, uint32_t n_waiting) const;
  void observe_prompts_alone(const StepWork& work, double ms);
  void learn_decode(Kind& kind, double ms);
  void learn_mixed(Kind& kind, uint32_t n_tokens, double ms);
  void learn_rate(Kind& kind, uint32_t n_tokens, double ms) const;

  uint32_t max_tokens_;
  double stretch_ = 1;  // of the last planned step
  double lag_ms_ = 0;   // how far the decoding sequences are behind their pace
  double n_tried_ = 0;  // the largest recent chunk
  StepCost alone_;      // of steps in which nothing decodes
  std::array<Kind, kKinds> kinds_{};
};

}  // namespace realizar::engine
