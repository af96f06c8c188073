// How many prompt tokens a step takes while other sequences decode. It decides how fast tokens come, never which.
//
// A step that decodes takes some time D. Prompt tokens in the same step add a fixed part F, whatever their number
// (where the prefill arithmetic unpacks all weights first), and c for each of them. All three are learned from the
// steps' durations, for each range of decode rows. S is the stretch: kStretch to kMaxStretch, the more the more prompts
// wait for each decoding sequence. The objective:
// - The time between tokens is S x D on average. Steps of S x D each take what fits, where that is worth F.
// - Where it is not, a chunk is taken at once that is, and steps that only decode make up for the time.
// - kWorth x F / c tokens are worth it: F is then at most 1 / (1 + kWorth) of what the chunk adds to the step. Where
//   small chunks were read as fast, F is none that they have, and they are taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/step_cost.h"

namespace realizar::engine {

// What the next step could compute.
struct StepDemand {
  uint32_t n_decoding = 0;       // sequences that decode
  uint32_t n_decode_rows = 0;    // a token of each, and its drafts
  uint32_t n_prompts = 0;        // prompts that are being computed or wait
  uint32_t n_prompt_tokens = 0;  // that the running ones of them still lack
};

// What a step computed. Replayed tokens are generated ones that are computed again.
struct StepWork {
  uint32_t n_decode_rows = 0, n_prompt_tokens = 0, n_replayed_tokens = 0;
};

class StepBudget {
 public:
  // Steps are of one kind where their decode rows are: 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
  static constexpr size_t kKinds = 66;
  static size_t kind_of(uint32_t n_decode_rows);
  struct RowRange {
    uint32_t first, last;
  };
  static RowRange rows_of(size_t kind);  // the inverse

  // What was learned of a kind; 0: nothing yet.
  struct Costs {
    double decode_ms = 0;        // of a step that only decodes
    double prompt_fixed_ms = 0;  // what any prompt tokens add to it
    double prompt_token_ms = 0;  // what each of them adds
  };

  explicit StepBudget(uint32_t max_tokens) : max_tokens_(max_tokens) {}

  // Prompt tokens of the next step. 0 asks for a step that only decodes: to learn what it costs, or to make up for
  // long ones.
  uint32_t plan(const StepDemand& demand);
  // The step that was planned last took `ms`.
  void observe(const StepWork& work, double ms);

  Costs costs(size_t kind) const;
  // What a step of n_rows decode rows takes, as far as is known: at least what the next smaller number of them does
  // that was measured; 0: none was.
  double decode_ms(uint32_t n_rows) const;

 private:
  struct Kind {
    double decode_ms = 0;
    uint32_t n_decodes = 0;      // steps that gave decode_ms
    uint32_t n_mixed_since = 0;  // steps with prompt tokens since the last of those
    uint32_t n_mixed = 0;
    StepCost mixed;  // of steps with prompt tokens; its fixed part contains decode_ms
    double few_tokens_per_ms = 0, many_tokens_per_ms = 0;  // of small and of large chunks, at the pace

    // Prompt tokens that cost as much as any add: F / c.
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
  double stretch_ = 1;  // of the step that was planned last
  double lag_ms_ = 0;   // by how much the decoding sequences are behind their pace
  double n_tried_ = 0;  // the largest chunk of late
  StepCost alone_;      // of steps in which nothing decodes
  std::array<Kind, kKinds> kinds_{};
};

}  // namespace realizar::engine
