#include "backend/cpu/runners/adapter_rows.h"

#include <algorithm>

namespace realizar::cpu {

void AdapterRows::reserve(uint32_t max_rows) {
  rows_.reserve(max_rows);
  places_.reserve(max_rows);
  factors_.reserve(max_rows);
  blocks_.reserve(max_rows);
}

void AdapterRows::plan(const StepBatch& batch, bool of_logits) {
  rows_.clear();
  places_.clear();
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
    places_.insert(places_.end(), n_rows, seq.adapter.place);
    factors_.insert(factors_.end(), n_rows, seq.adapter.factor);
  }
  for (uint32_t r = 0; r < places_.size(); ++r) rows_.push_back(r);
  // std::sort works in place; rows are distinct, so the order is total.
  std::sort(rows_.begin(), rows_.end(),
            [&](uint32_t a, uint32_t b) { return places_[a] != places_[b] ? places_[a] < places_[b] : a < b; });
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const uint32_t place = places_[rows_[i]];
    const bool goes_on =
        !blocks_.empty() && blocks_.back().place == place && blocks_.back().n_rows < AdapterBlock::kMaxRows;
    if (!goes_on) blocks_.push_back({place, i, 0});
    ++blocks_.back().n_rows;
  }
}

}  // namespace realizar::cpu
