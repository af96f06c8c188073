// RWKV-7's time mix. As of a delta rule, columns of a head's state know nothing of each other, so kDeltaCols of them
// are taken through all rows of a sequence while they lie in the nearest cache; and bits are a function of the rows
// before, whatever steps and members had them.
#include <algorithm>
#include <cmath>

#include "backend/cpu/walker.h"

namespace realizar::cpu {

void Walker::run(const WkvOp& op, const Hints&, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) { prepare_wkv(op, r); });
  team_.barrier(member);
  const uint32_t n_parts = (op.head_dim + kDeltaCols - 1) / kDeltaCols, n_items = op.n_heads * n_parts;
  share(static_cast<uint32_t>(batch_->seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t head = item % n_items / n_parts, first = item % n_parts * kDeltaCols;
    scan_wkv(op, batch_->seqs[item / n_items], head, first, std::min(kDeltaCols, op.head_dim - first));
  });
}

// What a row brings to the state, in place, and its bonus.
void Walker::prepare_wkv(const WkvOp& op, uint32_t row) const {
  const uint32_t n = op.n_heads * op.head_dim;
  float *decay = act(op.decay, row), *rate = act(op.rate, row), *v = act(op.v, row);
  kernels_.map(MapKind::kSigmoid, rate, n);
  kernels_.map(MapKind::kSigmoid, decay, n);
  kernels_.scale(-kWkvDecay, decay, n);
  kernels_.map(MapKind::kExp, decay, n);
  if (op.first_v != kNoAct) {
    float* share = act(op.v_share, row);
    const float* first_v = act(op.first_v, row);
    kernels_.map(MapKind::kSigmoid, share, n);
    for (uint32_t i = 0; i < n; ++i) v[i] += (first_v[i] - v[i]) * share[i];
  }
  for (uint32_t h = 0; h < op.n_heads; ++h) prepare_wkv_head(op, row, size_t{h} * op.head_dim);
}

// `at`: the head's first column.
void Walker::prepare_wkv_head(const WkvOp& op, uint32_t row, size_t at) const {
  const uint32_t n = op.head_dim;
  float *k = act(op.k, row) + at, *rate = act(op.rate, row) + at, *removal = act(op.removal, row) + at;
  float* bonus = act(op.bonus, row) + at;
  const float *r = act(op.r, row) + at, *v = act(op.v, row) + at;
  const float *removal_scale = vector(op.removal_scale) + at, *rate_scale = vector(op.rate_scale) + at;
  for (uint32_t j = 0; j < n; ++j) removal[j] = k[j] * removal_scale[j];
  const float length = std::sqrt(kernels_.dot_f32(removal, removal, n));
  kernels_.scale(1.0f / std::max(length, kWkvLeastLength), removal, n);
  for (uint32_t j = 0; j < n; ++j) {
    k[j] *= 1.0f + (rate[j] - 1.0f) * rate_scale[j];
    rate[j] *= removal[j];
    bonus[j] = r[j] * k[j];
  }
  const float factor = kernels_.dot_f32(bonus, vector(op.bonus_scale) + at, n);
  for (uint32_t i = 0; i < n; ++i) bonus[i] = factor * v[i];
}

void Walker::scan_wkv(const WkvOp& op, const BatchSequence& seq, uint32_t head, uint32_t first, uint32_t n) const {
  const size_t head_at = size_t{head} * op.head_dim, value_at = head_at + first;
  float* state = begun_state(seq, op.layer, op.part, value_at * op.head_dim, size_t{n} * op.head_dim);
  for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
    kernels_.wkv_row({.r = act(op.r, r) + head_at,
                      .decay = act(op.decay, r) + head_at,
                      .k = act(op.k, r) + head_at,
                      .removal = act(op.removal, r) + head_at,
                      .rate = act(op.rate, r) + head_at,
                      .v = act(op.v, r) + value_at,
                      .out = act(op.out, r) + value_at},
                     op.head_dim, n, state);
  }
}

}  // namespace realizar::cpu
