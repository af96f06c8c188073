// How the team shares products with panels: the rows prepared first, then pairs of panels as items.
#pragma once

#include <algorithm>

#include "backend/cpu/matmul.h"
#include "backend/cpu/step_context.h"

namespace realizar::cpu {

inline RowSet set_of(const RowList& list) {
  return {list.n_decode, list.n_rows};
}

// The sums [n_rows, kPairRows] of pair p of a range.
inline float* sums_of(float* acc, const RowList& list, uint32_t p) {
  return acc + size_t{p} * n_sum_rows(list) * kPairRows;
}

// The items that the pairs of several matrices of one size are shared in, matrix after matrix.
struct PairItems {
  uint32_t n_pairs, n_at_once;

  uint32_t n_each() const { return (n_pairs + n_at_once - 1) / n_at_once; }  // of a matrix
  PairRange range(uint32_t item) const {
    const uint32_t first = item % n_each() * n_at_once;
    return {first, std::min(n_at_once, n_pairs - first)};
  }
};
inline PairItems pair_items(const StepContext& step, const PanelMatrix& m, const RowList& rows) {
  return {n_pairs(m), pairs_at_once(step.kernels(), m, set_of(rows), step.n_members())};
}

// Rows [n_rows, m.n_cols] in the form that a product with `m` reads. All members have met when it returns.
void prepare_rows(StepContext& step, PreparedRows& to, const float* source, const PanelMatrix& m, const RowList& list,
                  uint32_t member);
// An activation's rows, in the scratch for those of one at a time.
inline void prepare(StepContext& step, ActId act, const PanelMatrix& m, const RowList& list, uint32_t member) {
  prepare_rows(step, step.scratch().prepared(), step.act(act), m, list, member);
}

}  // namespace realizar::cpu
