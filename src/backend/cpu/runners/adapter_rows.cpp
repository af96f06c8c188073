#include "backend/cpu/runners/adapter_rows.h"

#include <algorithm>

namespace realizar::cpu {

void AdapterRows::reserve(uint32_t max_rows) {
  rows_.reserve(max_rows);
  slots_.reserve(max_rows);
  factors_.reserve(max_rows);
  blocks_.reserve(max_rows);
}

void AdapterRows::plan(const StepBatch& batch, bool of_logits) {
  rows_.clear();
  slots_.clear();
  factors_.clear();
  blocks_.clear();
  size_t next_logit = 0;
  for (const BatchSequence& seq : batch.seqs) {
    uint32_t n_rows = of_logits ? 0 : seq.n_rows;
    while (of_logits && next_logit < batch.logit_rows.size() &&
           batch.logit_rows[next_logit] < seq.first_row + seq.n_rows) {
      ++n_rows;
      ++next_logit;
    }
    slots_.insert(slots_.end(), n_rows, seq.adapter.slot);
    factors_.insert(factors_.end(), n_rows, seq.adapter.factor);
  }
  for (uint32_t r = 0; r < slots_.size(); ++r) rows_.push_back(r);
  // std::sort works in place; rows are distinct, so the order is total.
  std::sort(rows_.begin(), rows_.end(),
            [&](uint32_t a, uint32_t b) { return slots_[a] != slots_[b] ? slots_[a] < slots_[b] : a < b; });
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const uint32_t slot = slots_[rows_[i]];
    const bool continues =
        !blocks_.empty() && blocks_.back().slot == slot && blocks_.back().n_rows < AdapterBlock::kMaxRows;
    if (!continues) blocks_.push_back({slot, i, 0});
    ++blocks_.back().n_rows;
  }
}

}  // namespace realizar::cpu
