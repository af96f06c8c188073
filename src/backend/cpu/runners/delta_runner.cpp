#include "backend/cpu/runners/delta_runner.h"

#include <algorithm>

#include "backend/cpu/runners/initial_state.h"

namespace realizar::cpu {
namespace {

// Rows are too far apart for the hardware prefetcher.
void prefetch(const float* values, uint32_t n) {
  for (uint32_t i = 0; i < n; i += 16) __builtin_prefetch(values + i);
}

}  // namespace

void DeltaRunner::run(const DeltaRuleOp& op, const Hints&, uint32_t member) {
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) { find_shares(op, r); });
  step_.barrier(member);
  const uint32_t n_parts = (op.value_dim + kDeltaCols - 1) / kDeltaCols, n_items = op.n_heads * n_parts;
  step_.share(static_cast<uint32_t>(step_.batch().seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t head = item % n_items / n_parts, first = item % n_parts * kDeltaCols;
    scan_columns(op, step_.batch().seqs[item / n_items], head, first, std::min(kDeltaCols, op.value_dim - first));
  });
}

// Computes the row's decay and its sigmoid of beta, in place.
void DeltaRunner::find_shares(const DeltaRuleOp& op, uint32_t row) const {
  const uint32_t n = op.n_heads * op.decay_cols;
  float* decay = step_.act(op.decay, row);
  const float* bias = step_.vector(op.decay_bias);
  for (uint32_t i = 0; i < n; ++i) decay[i] += bias[i];
  kernels_.map(MapKind::kSoftplus, decay, n);
  for (uint32_t h = 0; h < op.n_heads; ++h) {
    kernels_.scale(step_.vector(op.a)[h], decay + size_t{h} * op.decay_cols, op.decay_cols);
  }
  kernels_.map(MapKind::kExp, decay, n);
  kernels_.map(MapKind::kSigmoid, step_.act(op.beta, row), op.n_heads);
}

void DeltaRunner::scan_columns(const DeltaRuleOp& op, const BatchSequence& seq, uint32_t head, uint32_t first,
                               uint32_t n) const {
  const size_t at = (size_t{head} * op.value_dim + first) * op.key_dim;
  float* state = initial_state(states_, seq, op.layer, op.part, at, size_t{n} * op.key_dim);
  const uint32_t key_head = op.key_heads_in_turn ? head % op.n_key_heads : head / (op.n_heads / op.n_key_heads);
  const size_t key_at = size_t{key_head} * op.key_dim, value_at = size_t{head} * op.value_dim + first;
  const auto row_of = [&](uint32_t r) {
    return DeltaRow{.q = step_.act(op.q, r) + op.q_col + key_at,
                    .k = step_.act(op.k, r) + op.k_col + key_at,
                    .decay = step_.act(op.decay, r) + size_t{head} * op.decay_cols,
                    .v = step_.act(op.v, r) + op.v_col + value_at,
                    .out = step_.act(op.out, r) + value_at,
                    .share = step_.act(op.beta, r)[head]};
  };
  constexpr uint32_t kRowsAhead = 2;
  const uint32_t end = seq.first_row + seq.n_rows;
  for (uint32_t r = seq.first_row; r < end; ++r) {
    if (r + kRowsAhead < end) {
      const DeltaRow ahead = row_of(r + kRowsAhead);
      prefetch(ahead.q, op.key_dim);
      prefetch(ahead.k, op.key_dim);
      prefetch(ahead.v, n);
      prefetch(ahead.out, n);
    }
    kernels_.delta_row(row_of(r), op.key_dim, op.decay_cols, n, state);
  }
}

}  // namespace realizar::cpu
