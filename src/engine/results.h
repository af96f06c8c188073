// Processes a step's results: chosen tokens, scores of known ones, pooled vectors, and positions that other sequences
// may find in the cache. Ends sequences that are complete. One thread, the engine's.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/counters.h"
#include "engine/mask_turns.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "sampling/sampler.h"

namespace realizar::engine {

// The activations that hold the outputs of the forward pass.
struct ForwardOutputs {
  ActId hidden = kNoAct;  // [n_logit_rows, d_model]
  ActId logits = kNoAct;  // [n_logit_rows, n_vocab], or the number of scores
  uint32_t n_vocab = 0;
  bool whole_prompts = false;  // as in EngineOptions
};

class Results {
 public:
  // `backend`, `masks` and `counters` must outlive it. `end_tokens` stop every request that does not ignore them.
  Results(const Backend& backend, const ForwardOutputs& outputs, std::vector<TokenId> end_tokens, uint32_t n_ctx,
          MaskTurns& masks, EngineCounters& counters);

  // Takes the backend's results for the chunks, whose logit rows are in the order of the chunks.
  void take(std::span<const SequencePtr> running, std::span<const PlannedChunk> chunks);

 private:
  struct TokenTimes {
    double ms = 0, device_ms = 0;
  };

  void take_chunk(Sequence& sequence, const PlannedChunk& chunk, size_t first_row);
  void take_decoded(Sequence& sequence, const PlannedChunk& chunk, size_t first_row);
  void take_row(Sequence& sequence, uint32_t pos, size_t row);
  void pool_row(Sequence& sequence, uint32_t pos, size_t row);
  void keep_row(Sequence& sequence, uint32_t pos, size_t row);
  void finish_vector(Sequence& sequence);
  void report_row(Sequence& sequence, uint32_t pos, size_t row);
  void take_token(Sequence& sequence, size_t row);
  void end_without_token(Sequence& sequence, size_t row);
  TokenId choose_token(Sequence& sequence, size_t row);
  TokenTimes note_times(Sequence& sequence);
  void note_prefill(Sequence& sequence);
  bool report(Sequence& sequence, TokenEvent event, size_t row);
  bool is_stop(const Request& request, TokenId id) const;
  void fail_nonfinite(Sequence& sequence, uint32_t pos);
  std::span<const float> logits_of(size_t row) const;

  const Backend& backend_;
  const ForwardOutputs outputs_;
  const std::vector<TokenId> end_tokens_;
  const bool decode_matches_prefill_;  // the backend's
  const bool whole_prompts_;
  EngineCounters& counters_;
  Sampler sampler_;
  std::vector<uint64_t> allowed_;  // the tokens that a constraint allows
  MaskTurns& masks_;
};

}  // namespace realizar::engine
