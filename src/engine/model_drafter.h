// Guesses from a smaller model with the same vocabulary, for all sequences of a step together. It has a KV cache of its
// own; where that is full, or a prompt has not been read yet, a sequence gets no guesses. One thread, the engine's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/op_types.h"
#include "backend/state_layout.h"
#include "engine/batch_builder.h"
#include "engine/scheduler.h"
#include "kv/block_pool.h"
#include "realizar/result.h"
#include "sampling/sampler.h"

namespace realizar {
class Backend;
class Model;
struct BackendLimits;
}  // namespace realizar

namespace realizar::engine {

inline constexpr uint32_t kMaxDraft = 64;  // tokens at a time

struct DrafterOptions {
  uint32_t n_ctx = 0;          // positions a sequence
  uint32_t max_seqs = 1;       // of a step
  uint32_t max_rows = 512;     // of a step; at least max_seqs
  uint32_t max_catch_up = 64;  // tokens of the texts so far that are read for one step's guesses
  uint32_t kv_tokens = 0;      // positions that the cache holds in all
  uint32_t block_tokens = 32;
  KvType kv_type = KvType::kF16;
};

class ModelDrafter {
 public:
  // What the draft model's backend must be configured with before the model is loaded on it.
  static BackendLimits limits_for(const DrafterOptions& options);
  // `model` and `backend` must outlive it. Errors: ResourceExhausted, Unsupported (KV type).
  static Result<std::unique_ptr<ModelDrafter>> create(const Model& model, Backend& backend,
                                                      const DrafterOptions& options);

  // While it holds no sequence: runs steps of every usual size, as Engine::warm_up. Errors: Internal.
  Status warm_up();
  // Fills the drafts of running sequences, at most max_drafts[i] for running[i]; 0: none are wanted. Errors: Internal.
  Status draft(std::span<const SequencePtr> running, std::span<const uint32_t> max_drafts);
  // Steps of the model that gave the drafts, without those that read texts, and the time that they took.
  struct Rounds {
    uint32_t n = 0;
    double ms = 0;
  };
  const Rounds& rounds() const { return rounds_; }
  // The sequence is over, or was preempted.
  void forget(SeqId id);
  // Zeroes what is left of such sequences, max_blocks of the cache at most. True: there are no more.
  bool wipe_some(uint32_t max_blocks);

 private:
  // What the cache holds of one sequence.
  struct Slot {
    SeqId id{};    // 0: free
    Sequence own;  // its tokens and cache, as this model has them
  };

  ModelDrafter(const Model& model, Backend& backend, const DrafterOptions& options);

  Slot* slot_of(SeqId id);
  bool catch_up(Slot& slot, const Sequence& sequence, uint32_t& n_left);
  void release(Slot& slot);
  Status run_round(std::span<const SequencePtr> running);

  Backend& backend_;
  ProgramId forward_{};
  ActId logits_ = kNoAct;  // of the forward pass
  DrafterOptions options_;
  uint32_t n_vocab_;
  LayerGroups groups_;
  kv::BlockPool pool_;
  std::unique_ptr<kv::BlockPool> states_;  // slots for states; null: no layer is recurrent
  Sampler sampler_;
  BatchBuilder batch_builder_;
  std::vector<Slot> slots_;
  // The round that is being made: which slot, for which running sequence, which rows.
  struct Entry {
    Slot* slot;
    uint32_t running_idx;
    PlannedChunk chunk;
  };
  std::vector<Entry> round_;
  Rounds rounds_;
};

}  // namespace realizar::engine
