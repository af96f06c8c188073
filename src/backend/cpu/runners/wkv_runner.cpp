#include "backend/cpu/runners/wkv_runner.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/runners/initial_state.h"

namespace realizar::cpu {

void WkvRunner::run(const WkvOp& op, const Hints&, uint32_t member) {
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) { prepare_row(op, r); });
  step_.barrier(member);
  const uint32_t n_parts = (op.head_dim + kDeltaCols - 1) / kDeltaCols, n_items = op.n_heads * n_parts;
  step_.share(static_cast<uint32_t>(step_.batch().seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t head = item % n_items / n_parts, first = item % n_parts * kDeltaCols;
    scan_columns(op, step_.batch().seqs[item / n_items], head, first, std::min(kDeltaCols, op.head_dim - first));
  });
}

// Computes the row's inputs to the state, in place, and its bonus.
void WkvRunner::prepare_row(const WkvOp& op, uint32_t row) const {
  const uint32_t n = op.n_heads * op.head_dim;
  float *decay = step_.act(op.decay, row), *rate = step_.act(op.rate, row), *v = step_.act(op.v, row);
  kernels_.map(MapKind::kSigmoid, rate, n);
  kernels_.map(MapKind::kSigmoid, decay, n);
  kernels_.scale(-kWkvDecay, decay, n);
  kernels_.map(MapKind::kExp, decay, n);
  if (op.first_v != kNoAct) {
    float* share = step_.act(op.v_share, row);
    const float* first_v = step_.act(op.first_v, row);
    kernels_.map(MapKind::kSigmoid, share, n);
    for (uint32_t i = 0; i < n; ++i) v[i] += (first_v[i] - v[i]) * share[i];
  }
  for (uint32_t h = 0; h < op.n_heads; ++h) prepare_head(op, row, size_t{h} * op.head_dim);
}

// `at`: the head's first column.
void WkvRunner::prepare_head(const WkvOp& op, uint32_t row, size_t at) const {
  const uint32_t n = op.head_dim;
  float *k = step_.act(op.k, row) + at, *rate = step_.act(op.rate, row) + at,
        *removal = step_.act(op.removal, row) + at;
  float* bonus = step_.act(op.bonus, row) + at;
  const float *r = step_.act(op.r, row) + at, *v = step_.act(op.v, row) + at;
  const float *removal_scale = step_.vector(op.removal_scale) + at, *rate_scale = step_.vector(op.rate_scale) + at;
  for (uint32_t j = 0; j < n; ++j) removal[j] = k[j] * removal_scale[j];
  const float length = std::sqrt(kernels_.dot_f32(removal, removal, n));
  kernels_.scale(1.0f / std::max(length, kWkvLeastLength), removal, n);
  for (uint32_t j = 0; j < n; ++j) {
    k[j] *= 1.0f + (rate[j] - 1.0f) * rate_scale[j];
    rate[j] *= removal[j];
    bonus[j] = r[j] * k[j];
  }
  const float factor = kernels_.dot_f32(bonus, step_.vector(op.bonus_scale) + at, n);
  for (uint32_t i = 0; i < n; ++i) bonus[i] = factor * v[i];
}

void WkvRunner::scan_columns(const WkvOp& op, const BatchSequence& seq, uint32_t head, uint32_t first,
                             uint32_t n) const {
  const size_t head_at = size_t{head} * op.head_dim, value_at = head_at + first;
  float* state = initial_state(states_, seq, op.layer, op.part, value_at * op.head_dim, size_t{n} * op.head_dim);
  for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
    kernels_.wkv_row({.r = step_.act(op.r, r) + head_at,
                      .decay = step_.act(op.decay, r) + head_at,
                      .k = step_.act(op.k, r) + head_at,
                      .removal = step_.act(op.removal, r) + head_at,
                      .rate = step_.act(op.rate, r) + head_at,
                      .v = step_.act(op.v, r) + value_at,
                      .out = step_.act(op.out, r) + value_at},
                     op.head_dim, n, state);
  }
}

}  // namespace realizar::cpu
