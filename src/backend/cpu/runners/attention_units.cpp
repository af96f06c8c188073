#include "backend/cpu/runners/attention_units.h"

#include "backend/cpu/attention.h"

namespace realizar::cpu {

void AttentionUnits::plan(const StepBatch& batch, uint32_t rows_each) {
  n_rows_each = rows_each;
  all.clear();
  n_parts = 0;
  for (uint32_t s = 0; s < batch.seqs.size(); ++s) {
    const BatchSequence& seq = batch.seqs[s];
    const auto pos = static_cast<uint32_t>(seq.first_pos);
    const bool is_decode = seq.first_row < batch.n_decode_rows;
    if (is_decode && seq.n_rows == 1 && pos >= kSplitPositions) {
      for (uint32_t part = 0; part < cpu::n_parts(pos); ++part) all.push_back({s, 0, part, n_parts++});
    } else {
      const uint32_t n_rows = is_decode ? 1 : n_rows_each;
      for (uint32_t row = 0; row < seq.n_rows; row += n_rows) all.push_back({s, row, 0, AttentionUnit::kNoPart});
    }
  }
}

}  // namespace realizar::cpu
