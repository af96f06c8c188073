// One step's computation: speculative tokens, a plan, a batch, and its run on the backend. Owns the arrays, sized at
// construction, so that a step allocates nothing; does not process the results. One thread, the engine's.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/batch_builder.h"
#include "engine/choice_builder.h"
#include "engine/counters.h"
#include "engine/engine_options.h"
#include "engine/op_table.h"
#include "engine/scheduler.h"
#include "engine/speculation.h"
#include "engine/step_budget.h"
#include "realizar/result.h"

namespace realizar::engine {

class ModelDrafter;

// The forward pass, and the one for steps in which some row has an adapter; the same program if the model has none.
struct ForwardPrograms {
  ProgramId plain, adapted;
};

class Step {
 public:
  // `backend`, on which the programs were compiled, and `counters` must outlive it.
  Step(Backend& backend, const ForwardPrograms& forward, const BackendLimits& limits, uint32_t n_vocab,
       const EngineOptions& options, EngineCounters& counters);

  // Speculative tokens come from another model from now on; null: from the text so far.
  void set_drafter(ModelDrafter* drafter) { drafter_ = drafter; }
  // Traces every step from now on. Without an observer, only steps of requests that want a trace have one.
  void set_observer(StepObserver observer) { observer_ = std::move(observer); }

  // Drafts speculative tokens for decoding sequences. Errors: Internal, from a draft model.
  Status draft(std::span<const SequencePtr> running);
  // Decides the step's chunks and reserves blocks for them. False: too few are free; call again after preempting a
  // sequence.
  bool plan(std::span<const SequencePtr> running, size_t n_waiting);
  // Computes the chunks; the backend holds the results. Errors: Internal.
  Status run(std::span<const SequencePtr> running);
  // Computes one chunk, whose blocks are reserved, of a sequence that is not running.
  Status run_alone(std::span<const SequencePtr> sequence, const PlannedChunk& chunk);
  // Reports the operations of a traced step to the observer and to the requests that want them. Call after the results
  // are taken, when it is known which speculative tokens were right.
  void tell_operations(std::span<const SequencePtr> running) const;
  // Learns from the step's results and its total time.
  void observe(std::span<const SequencePtr> running, double ms);

  std::span<const PlannedChunk> chunks() const { return chunks_; }  // in the order of their logit rows

 private:
  uint32_t n_until_block_ends(const Sequence& sequence) const;
  void limit_drafts(std::span<const SequencePtr> running);
  void look_up(std::span<const SequencePtr> running);
  void draft_from_text(std::span<const SequencePtr> running);
  Status draft_by_model(std::span<const SequencePtr> running);
  template <typename ChancesOf>
  void grant(std::span<const SequencePtr> running, const ChancesOf& chances_of, const StepTime& step_ms);
  void learn_drafts(std::span<const SequencePtr> running);
  bool try_plan(std::span<const SequencePtr> running, size_t n_waiting);
  void publish_costs(size_t kind);

  Backend& backend_;
  const ForwardPrograms forward_;
  const BackendLimits limits_;
  const uint32_t max_drafts_of_each_, max_prefill_tokens_, block_tokens_;
  const bool whole_prompts_;
  const bool chooses_drafts_;  // as many as pay off
  EngineCounters& counters_;
  BatchBuilder batch_builder_;
  ChoiceBuilder choice_builder_;
  StepBudget budget_;
  StepBatch batch_;  // of the step whose results are being read
  std::vector<PlannedChunk> chunks_;
  std::vector<uint32_t> max_drafts_;  // for each running sequence
  std::vector<DraftOffer> offers_;    // made from those
  ModelDrafter* drafter_ = nullptr;
  DraftRecord draft_record_;  // of the draft model
  double draft_ms_ = 0;       // time for those of the step
  StepObserver observer_;
  bool is_traced_ = false;
};

}  // namespace realizar::engine
