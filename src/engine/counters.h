// The engine's activity and holdings, for metrics: written by the engine's thread, readable by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/step_budget.h"

namespace realizar::engine {

// Upper bounds of the buckets for step times; the last bucket has none.
inline constexpr std::array<double, 10> kStepBoundsMs = {0.5, 1, 2, 5, 10, 20, 50, 100, 500, 2000};

// The step budget's estimates for one kind of step; 0: none yet.
struct StepCostGauges {
  std::atomic<double> decode_ms{0}, prompt_fixed_ms{0}, prompt_token_ms{0};
};

// Finished steps of a phase, for their mean and deviation.
struct StepTimes {
  std::atomic<uint64_t> n{0};
  std::atomic<double> sum_s{0}, sum_of_squares{0};
  std::atomic<double> min_s{0}, max_s{0};  // valid if n > 0
};

struct EngineCounters {
  std::atomic<uint32_t> n_running{0}, n_waiting{0};
  std::atomic<uint32_t> n_blocks{0}, n_held_blocks{0}, n_block_tokens{0};
  StepTimes prefill_steps, decode_steps;  // with and without prompt rows
  std::array<std::atomic<uint64_t>, kStepBoundsMs.size() + 1> n_steps_in_class{};
  std::array<StepCostGauges, StepBudget::kKinds> step_costs{};  // indexed by StepBudget::kind_of
  std::atomic<bool> is_device_lost{false};                      // no step will ever succeed again
  std::atomic<uint64_t> n_prompt_tokens{0};  // of requests that reached their first token, or their vector
  std::atomic<uint64_t> n_generated_tokens{0};
  std::atomic<uint64_t> n_step_seqs{0};                          // sum over all steps
  std::atomic<uint64_t> n_tokens_max{0};                         // of the longest sequence so far
  std::atomic<uint64_t> n_prefix_queried{0}, n_prefix_hits{0};   // prompt tokens looked up, and found, in the cache
  std::atomic<uint64_t> n_warm_requests{0}, n_cold_requests{0};  // ended requests with and without a cached prefix
  std::atomic<uint64_t> n_inserted_blocks{0};                    // that got a name in the cache
  std::atomic<uint64_t> n_evicted_blocks{0};                     // reused for others
  std::atomic<uint64_t> n_saved_blocks{0}, n_dropped_blocks{0};  // to the host's memory, and lost from there
  std::atomic<uint64_t> n_restored_blocks{0};                    // from the host's memory
  std::atomic<uint32_t> n_named_blocks{0}, n_stored_blocks{0};   // that can be found now: on the device, and in the
                                                                 // host's memory
  std::atomic<uint64_t> n_idle_prefill_tokens{0};                // of answers, recomputed while nothing ran
  std::atomic<uint64_t> n_preemptions{0};
  std::atomic<uint64_t> n_nonfinite_logits{0};  // requests that ended because the model returned NaN or infinities
  std::atomic<uint64_t> n_drafts{0};            // number of drafts of speculative tokens
  std::atomic<uint64_t> n_drafted{0}, n_accepted{0};

  // Adds the activity of another engine, but not its holdings or estimates.
  void add_counts(const EngineCounters& other);
  // Replaces holdings and estimates by another engine's.
  void take_state(const EngineCounters& other);
};

}  // namespace realizar::engine
