// Distribution of products over the team: rows are prepared first, then pairs of panels are items.
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

// Items of pairs of panels for several matrices of one size, matrix by matrix.
struct PairItems {
  uint32_t n_pairs, n_at_once;

  uint32_t n_each() const { return (n_pairs + n_at_once - 1) / n_at_once; }  // per matrix
  PairRange range(uint32_t item) const {
    const uint32_t first = item % n_each() * n_at_once;
    return {first, std::min(n_at_once, n_pairs - first)};
  }
};
inline PairItems pair_items(const StepContext& step, const PackedMatrix& m, const RowList& rows) {
  return {n_pairs(m), pairs_at_once(step.kernels(), m, set_of(rows), step.n_members())};
}

// Prepares rows [n_rows, m.n_cols] for products with `m`. Ends with a barrier.
void prepare_rows(StepContext& step, PreparedRows& to, const float* source, const PackedMatrix& m, const RowList& list,
                  uint32_t member);
// Prepares an activation's rows in the scratch for one activation at a time.
inline void prepare(StepContext& step, ActId act, const PackedMatrix& m, const RowList& list, uint32_t member) {
  prepare_rows(step, step.scratch().prepared(), step.act(act), m, list, member);
}

}  // namespace realizar::cpu
