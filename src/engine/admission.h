// Decides which sequences wait and which run. Requests wait here until a slot and blocks are free; they end here when
// they are cancelled or late, and wait again when blocks run out. Computes nothing. One thread, the engine's.
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
  // All references must outlive it. `idle_prefill` gets the finished answers. decode_matches_prefill: the backend
  // computes prompts and answers by the same arithmetic.
  Admission(kv::BlockPool& pool, IdlePrefill& idle_prefill, const EngineOptions& options, bool decode_matches_prefill,
            EngineCounters& counters);

  // The drafter is notified when a sequence stops running. It must outlive the running ones; null: none.
  void set_drafter(ModelDrafter* drafter) { drafter_ = drafter; }

  // The most requests at once. If a tenant below its share submits one beyond that, the newest waiting request of the
  // tenant with the most ends with ResourceExhausted.
  void set_max_open(uint32_t max_open) { max_open_ = max_open; }
  void submit(SequencePtr sequence);
  // Ends cancelled and late requests, gives followers the prefixes that they waited for, and admits those that fit.
  void update(Sequence::Clock::time_point now);
  // Moves the running sequence with the lowest rank back to waiting. At least two must run.
  void preempt();
  // Charges each tenant for its part of the planned chunks.
  void charge(std::span<const PlannedChunk> chunks);
  // Removes ended sequences and notifies their sinks.
  void remove_ended();
  // Both end all sequences of that kind; `error` is reported for kError.
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
  const uint32_t max_seqs_, max_rows_;  // sequences that run together, and rows in a step
  const PriorityScope priority_scope_;
  const bool decode_matches_prefill_, whole_prompts_;
  EngineCounters& counters_;
  ModelDrafter* drafter_ = nullptr;
  uint32_t max_open_ = UINT32_MAX;
  FairShare shares_;
  std::vector<SequencePtr> waiting_, running_;
  uint64_t n_sequences_ = 0;
  Sequence::Clock::time_point next_sweep_{};
};

}  // namespace realizar::engine
