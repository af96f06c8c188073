#include "engine/batch_builder.h"

namespace realizar::engine {

BatchBuilder::BatchBuilder(uint32_t max_rows, uint32_t max_seqs) {
  tokens_.reserve(max_rows);
  positions_.reserve(max_rows);
  logit_rows_.reserve(max_rows);
  seqs_.reserve(max_seqs);
}

const StepBatch& BatchBuilder::build(std::span<const SequencePtr> sequences, std::span<const PlannedChunk> plan) {
  begin();
  for (const PlannedChunk& chunk : plan) append(*sequences[chunk.seq_idx], chunk);
  return finish();
}

void BatchBuilder::append(const Sequence& sequence, const PlannedChunk& chunk) {
  const auto first_row = static_cast<uint32_t>(tokens_.size());
  for (uint32_t pos = sequence.n_computed(); pos < sequence.n_computed() + chunk.n_tokens; ++pos) {
    const uint32_t n_known = sequence.n_known();
    tokens_.push_back(pos < n_known ? sequence.tokens[pos] : sequence.drafts[pos - n_known]);
    positions_.push_back(static_cast<Pos>(pos));
  }
  const uint32_t first_wanted = first_row + (sequence.wants_first ? 0 : chunk.n_tokens - chunk.n_logit_rows);
  for (uint32_t i = 0; i < chunk.n_logit_rows; ++i) logit_rows_.push_back(first_wanted + i);
  if (!chunk.is_prompt()) n_decode_rows_ += chunk.n_tokens;
  const BlockTables tables(sequence.cache.table(), sequence.cache.table_stride());
  seqs_.push_back({first_row, chunk.n_tokens, static_cast<Pos>(sequence.n_computed()), tables});
  seqs_.back().adapter = sequence.adapter.in_batch();
  if (!sequence.cache.has_states()) return;
  seqs_.back().state_from = StateId{to_index(sequence.cache.states().from())};
  seqs_.back().state_to = StateId{to_index(sequence.cache.states().to())};
}

void BatchBuilder::begin() {
  tokens_.clear();
  positions_.clear();
  logit_rows_.clear();
  seqs_.clear();
  n_decode_rows_ = 0;
}

const StepBatch& BatchBuilder::finish() {
  batch_ = {tokens_, positions_, seqs_, n_decode_rows_, logit_rows_};
  return batch_;
}

}  // namespace realizar::engine
