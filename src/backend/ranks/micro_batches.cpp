#include "backend/ranks/micro_batches.h"

#include <algorithm>

namespace realizar::ranks {
namespace {

// Fewer rows take no longer than reading the weights.
constexpr uint32_t kLeastRows = 32;

// Rows [skip, skip + n) of the sequence, the first of which becomes row first_row.
BatchSequence rows_of(const BatchSequence& seq, uint32_t skip, uint32_t n, uint32_t first_row) {
  BatchSequence piece = seq;
  piece.first_row = first_row;
  piece.n_rows = n;
  piece.first_pos = Pos{static_cast<int32_t>(seq.first_pos) + static_cast<int32_t>(skip)};
  if (skip > 0) piece.state_from = seq.state_to;
  return piece;
}

}  // namespace

// A part may end within a sequence, which then continues in the next part.
void MicroBatches::reserve(uint32_t max_parts, uint32_t max_seqs, uint32_t max_logit_rows) {
  max_parts_ = max_parts;
  parts_.reserve(max_parts);
  first_logit_row_.reserve(max_parts);
  seqs_.reserve(size_t{max_seqs} + max_parts);
  logit_rows_.reserve(max_logit_rows);
}

std::span<const StepBatch> MicroBatches::split(const StepBatch& batch, bool cuts_prompts) {
  parts_.clear();
  first_logit_row_.clear();
  seqs_.clear();
  logit_rows_.clear();
  const uint32_t n_each = std::max((batch.n_rows() + max_parts_ - 1) / max_parts_, kLeastRows);
  size_t first_seq = 0;
  uint32_t first_row = 0;  // in the part
  for (const BatchSequence& seq : batch.seqs) {
    const bool may_be_cut = cuts_prompts && seq.first_row >= batch.n_decode_rows;
    for (uint32_t skip = 0; skip < seq.n_rows;) {
      const uint32_t row = seq.first_row + skip, n_left = seq.n_rows - skip;
      const uint32_t n = may_be_cut ? std::min(n_left, first_row + n_each - row) : n_left;
      seqs_.push_back(rows_of(seq, skip, n, row - first_row));
      skip += n;
      if (row + n < first_row + n_each) continue;
      add_part(batch, first_seq, first_row, row + n);
      first_seq = seqs_.size();
      first_row = row + n;
    }
  }
  if (first_row < batch.n_rows()) add_part(batch, first_seq, first_row, batch.n_rows());
  return parts_;
}

void MicroBatches::add_part(const StepBatch& batch, size_t first_seq, uint32_t first_row, uint32_t end_row) {
  const size_t logit_rows_at = logit_rows_.size();
  for (const uint32_t row : batch.logit_rows) {
    if (row >= first_row && row < end_row) logit_rows_.push_back(row - first_row);
  }
  first_logit_row_.push_back(static_cast<uint32_t>(logit_rows_at));
  parts_.push_back({.tokens = batch.tokens.subspan(first_row, end_row - first_row),
                    .positions = batch.positions.subspan(first_row, end_row - first_row),
                    .seqs = std::span(seqs_).subspan(first_seq),
                    .n_decode_rows = std::clamp(batch.n_decode_rows, first_row, end_row) - first_row,
                    .logit_rows = std::span(logit_rows_).subspan(logit_rows_at)});
}

}  // namespace realizar::ranks
