// Speculative tokens from a smaller model with the same vocabulary, for all sequences of a step together. It has its
// own KV cache; while that is full, or a prompt has not been read yet, a sequence gets none. One thread, the engine's.
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
  uint32_t n_ctx = 0;          // positions for each sequence
  uint32_t max_seqs = 1;       // in a step
  uint32_t max_rows = 512;     // in a step; at least max_seqs
  uint32_t max_catch_up = 64;  // tokens of the texts so far that are read in one step
  uint32_t kv_tokens = 0;      // positions of the cache in total
  uint32_t block_tokens = 32;
  KvType kv_type = KvType::kF16;
};

class ModelDrafter {
 public:
  // Limits with which the draft model's backend must be configured before the model is loaded.
  static BackendLimits limits_for(const DrafterOptions& options);
  // `model` and `backend` must outlive it. Errors: ResourceExhausted, Unsupported (KV type).
  static Result<std::unique_ptr<ModelDrafter>> create(const Model& model, Backend& backend,
                                                      const DrafterOptions& options);

  // Call while it holds no sequence: runs steps of every usual size, like Engine::warm_up. Errors: Internal.
  Status warm_up();
  // Fills the drafts of running sequences, at most max_drafts[i] for running[i]; 0: none. Errors: Internal.
  Status draft(std::span<const SequencePtr> running, std::span<const uint32_t> max_drafts);
  // Steps of the model that gave speculative tokens, without those that read texts, and their total time.
  struct Rounds {
    uint32_t n = 0;
    double ms = 0;
  };
  const Rounds& rounds() const { return rounds_; }
  // The sequence has ended, or was preempted.
  void forget(SeqId id);
  // Zeroes the data of such sequences, at most max_blocks of the cache. True: all is done.
  bool wipe_some(uint32_t max_blocks);

 private:
  // The cached state of one sequence.
  struct Slot {
    SeqId id{};    // 0: free
    Sequence own;  // its tokens and cache in this model
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
  // An entry of the current round: the slot, the running sequence and the rows.
  struct Entry {
    Slot* slot;
    uint32_t running_idx;
    PlannedChunk chunk;
  };
  std::vector<Entry> round_;
  Rounds rounds_;
};

}  // namespace realizar::engine
