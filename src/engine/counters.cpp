#include "engine/counters.h"

#include <algorithm>

namespace realizar::engine {
namespace {

void add_times(StepTimes& times, const StepTimes& other) {
  if (other.n == 0) return;
  times.min_s = times.n == 0 ? other.min_s.load() : std::min(times.min_s.load(), other.min_s.load());
  times.max_s = std::max(times.max_s.load(), other.max_s.load());
  times.n += other.n;
  times.sum_s = times.sum_s + other.sum_s;
  times.sum_of_squares = times.sum_of_squares + other.sum_of_squares;
}

constexpr std::atomic<uint64_t> EngineCounters::*kCounts[] = {
    &EngineCounters::n_prompt_tokens,    &EngineCounters::n_generated_tokens,
    &EngineCounters::n_step_seqs,        &EngineCounters::n_prefix_queried,
    &EngineCounters::n_prefix_hits,      &EngineCounters::n_warm_requests,
    &EngineCounters::n_cold_requests,    &EngineCounters::n_inserted_blocks,
    &EngineCounters::n_evicted_blocks,   &EngineCounters::n_saved_blocks,
    &EngineCounters::n_dropped_blocks,   &EngineCounters::n_restored_blocks,
    &EngineCounters::n_preemptions,      &EngineCounters::n_idle_prefill_tokens,
    &EngineCounters::n_nonfinite_logits, &EngineCounters::n_drafts,
    &EngineCounters::n_drafted,          &EngineCounters::n_accepted,
};

}  // namespace

void EngineCounters::add_counts(const EngineCounters& other) {
  for (const auto count : kCounts) this->*count += other.*count;
  for (size_t i = 0; i < n_steps_in_class.size(); ++i) n_steps_in_class[i] += other.n_steps_in_class[i];
  n_tokens_max = std::max(n_tokens_max.load(), other.n_tokens_max.load());
  add_times(prefill_steps, other.prefill_steps);
  add_times(decode_steps, other.decode_steps);
}

void EngineCounters::take_state(const EngineCounters& other) {
  n_running = other.n_running.load();
  n_waiting = other.n_waiting.load();
  n_blocks = other.n_blocks.load();
  n_held_blocks = other.n_held_blocks.load();
  n_block_tokens = other.n_block_tokens.load();
  n_named_blocks = other.n_named_blocks.load();
  n_stored_blocks = other.n_stored_blocks.load();
  for (size_t i = 0; i < step_costs.size(); ++i) {
    step_costs[i].decode_ms = other.step_costs[i].decode_ms.load();
    step_costs[i].prompt_fixed_ms = other.step_costs[i].prompt_fixed_ms.load();
    step_costs[i].prompt_token_ms = other.step_costs[i].prompt_token_ms.load();
  }
}

}  // namespace realizar::engine
