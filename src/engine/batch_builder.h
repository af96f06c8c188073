// Converts a plan to the spans of a StepBatch. Owns the arrays, sized at construction; a call allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "backend/step_batch.h"
#include "engine/scheduler.h"

namespace realizar::engine {

class BatchBuilder {
 public:
  BatchBuilder(uint32_t max_rows, uint32_t max_seqs);

  // Valid until the next call; the sequences' blocks must not change before then.
  const StepBatch& build(std::span<const SequencePtr> sequences, std::span<const PlannedChunk> plan);
  // Builds a batch chunk by chunk, decode rows first; a chunk's seq_idx is ignored.
  void begin();
  void append(const Sequence& sequence, const PlannedChunk& chunk);
  const StepBatch& finish();

 private:
  std::vector<TokenId> tokens_;
  std::vector<Pos> positions_;
  std::vector<BatchSequence> seqs_;
  std::vector<uint32_t> logit_rows_;
  uint32_t n_decode_rows_ = 0;
  StepBatch batch_;
};

}  // namespace realizar::engine
