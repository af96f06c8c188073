// What the engine has done and holds, for metrics: written by the engine's thread, read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/step_budget.h"

namespace realizar::engine {

// Upper bounds of the classes in which steps are counted by their time; the last class has none.
inline constexpr std::array<double, 10> kStepBoundsMs = {0.5, 1, 2, 5, 10, 20, 50, 100, 500, 2000};

// What the step budget learned of one kind of step; 0: nothing yet.
struct StepCostGauges {
  std::atomic<double> decode_ms{0}, prompt_fixed_ms{0}, prompt_token_ms{0};
};

// Finished steps of a phase, from which their mean and deviation follow.
struct StepTimes {
  std::atomic<uint64_t> n{0};
  std::atomic<double> sum_s{0}, sum_of_squares{0};
  std::atomic<double> min_s{0}, max_s{0};  // where n > 0
};

struct EngineCounters {
  std::atomic<uint32_t> n_running{0}, n_waiting{0};
  std::atomic<uint32_t> n_blocks{0}, n_held_blocks{0}, n_block_tokens{0};
  StepTimes prefill_steps, decode_steps;  // with rows of some prompt, and without
  std::array<std::atomic<uint64_t>, kStepBoundsMs.size() + 1> n_steps_in_class{};
  std::array<StepCostGauges, StepBudget::kKinds> step_costs{};  // by StepBudget::kind_of
  std::atomic<bool> is_device_lost{false};                      // no step will ever succeed again
  std::atomic<uint64_t> n_prompt_tokens{0};  // of requests that reached their first token, or their vector
  std::atomic<uint64_t> n_generated_tokens{0};
  std::atomic<uint64_t> n_step_seqs{0};                          // sequences of all steps
  std::atomic<uint64_t> n_tokens_max{0};                         // of the longest sequence so far
  std::atomic<uint64_t> n_prefix_queried{0}, n_prefix_hits{0};   // prompt tokens looked up, and found, in the cache
  std::atomic<uint64_t> n_warm_requests{0}, n_cold_requests{0};  // that ended, with something found there and without
  std::atomic<uint64_t> n_inserted_blocks{0};                    // that were given a name there
  std::atomic<uint64_t> n_evicted_blocks{0};                     // whose place was wanted for others
  std::atomic<uint64_t> n_saved_blocks{0}, n_dropped_blocks{0};  // into the host's memory, and from there for good
  std::atomic<uint64_t> n_restored_blocks{0};                    // that came back from the host's memory
  std::atomic<uint32_t> n_named_blocks{0}, n_stored_blocks{0};   // that can be found now: in the cache, and there
  std::atomic<uint64_t> n_idle_prefill_tokens{0};                // of answers, computed again while nothing ran
  std::atomic<uint64_t> n_preemptions{0};
  std::atomic<uint64_t> n_nonfinite_logits{0};  // requests that ended since the model gave NaN or infinities
  std::atomic<uint64_t> n_drafts{0};            // times that tokens were guessed
  std::atomic<uint64_t> n_drafted{0}, n_accepted{0};

  // Adds what another engine has done, but not what it holds or has learned.
  void add_counts(const EngineCounters& other);
  // Holds and has learned what the other one does now.
  void take_state(const EngineCounters& other);
};

}  // namespace realizar::engine
