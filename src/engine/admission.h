// Who waits and who runs. Requests wait here until a place and the blocks for them are free; they end here when they
// are cancelled or late, and go back to waiting when blocks run out. Computes nothing. One thread, the engine's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/counters.h"
#include "engine/engine_options.h"
#include "engine/fair_share.h"
#include "engine/idle_prefill.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "kv/block_pool.h"

namespace realizar::engine {

class ModelDrafter;

class Admission {
 public:
  // All that is referred to must outlive it. `idle_prefill` gets the finished answers. phases_agree: the backend
  // computes prompts and answers by one arithmetic.
  Admission(kv::BlockPool& pool, IdlePrefill& idle_prefill, const EngineOptions& options, bool phases_agree,
            EngineCounters& counters);

  // It is told of every sequence that runs no more. It must outlive the running ones; null: there is none.
  void set_drafter(ModelDrafter* drafter) { drafter_ = drafter; }

  // Requests that may be here at once. Beyond that the newest waiting ones of the tenant that has most end, told
  // ResourceExhausted, where a tenant came that has less than its share.
  void set_max_open(uint32_t max_open) { max_open_ = max_open; }
  void submit(SequencePtr sequence);
  // Ends what was cancelled or is too late, has followers take the prefixes that they waited for, and lets in what
  // fits.
  void update(Sequence::Clock::time_point now);
  // Puts the running sequence back that is the least in rank. At least two run.
  void preempt();
  // Counts what the planned chunks compute for each tenant.
  void charge(std::span<const PlannedChunk> chunks);
  // Takes ended sequences out and tells their sinks.
  void remove_ended();
  // End all those sequences; `error` is theirs for kError.
  void end_running(FinishReason reason, const Error* error);
  void end_waiting(FinishReason reason, const Error* error);

  std::span<const SequencePtr> running() const { return running_; }  // in order of admission
  size_t n_waiting() const { return waiting_.size(); }
  bool is_idle() const { return running_.empty() && waiting_.empty(); }

 private:
  void sweep(Sequence::Clock::time_point now);
  void look_up_prefixes();
  void admit(Sequence::Clock::time_point now);
  std::optional<size_t> pick_claimant() const;
  bool can_have_room(const Sequence& sequence) const;
  uint32_t n_running_most() const;
  uint64_t block_share() const;
  void make_room(Sequence& sequence);
  bool try_admit(Sequence& sequence, uint32_t n_reserved);
  uint32_t n_missing(const Sequence& sequence) const;
  void preempt(size_t victim);
  void shed();
  uint32_t n_cacheable(const Sequence& sequence) const;
  void take_tail_or_follow(Sequence& sequence, std::span<const SequencePtr> earlier);
  void follow(Sequence& sequence, uint32_t n_found, std::span<const SequencePtr> earlier) const;
  void stop_running(Sequence& sequence);
  void close(Sequence& sequence);

  kv::BlockPool& pool_;
  IdlePrefill& idle_prefill_;
  const uint32_t max_seqs_, max_rows_;  // that run together, and of a step
  const PriorityScope priority_scope_;
  const bool phases_agree_, whole_prompts_;
  EngineCounters& counters_;
  ModelDrafter* drafter_ = nullptr;
  uint32_t max_open_ = UINT32_MAX;
  FairShare shares_;
  std::vector<SequencePtr> waiting_, running_;
  uint64_t n_sequences_ = 0;
  Sequence::Clock::time_point next_sweep_{};
};

}  // namespace realizar::engine
