// The operations that take each row by itself: embedding, norms, rotations with the cache, the rows that want logits.
#include <algorithm>
#include <cmath>

#include "backend/cpu/walker.h"
#include "base/check.h"

namespace realizar {

void Walker::run(const EmbedOp& op, const Hints&, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    float* out = act(op.out, r);
    read_row(kernels_, matrix(op.table), static_cast<uint32_t>(to_index(batch_->tokens[r])), false,
             scratch_.tile(member), out);
    if (op.scale != 1.0f) kernels_.scale(op.scale, out, n_cols(op.out));
    if (op.position_table == kNoWeight) return;
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    read_row(kernels_, matrix(op.position_table), pos, true, scratch_.tile(member), out);
  });
}

void Walker::normalize(const NormOp& op, const float* in, float* out, uint32_t n) const {
  const float mean = op.kind == NormKind::kLayer ? kernels_.sum(in, n) / static_cast<float>(n) : 0.0f;
  const float* weight = vector(op.weight);
  const float* bias = vector(op.bias);
  float power;
  if (op.kind == NormKind::kRms) {
    power = kernels_.dot_f32(in, in, n);
  } else {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += (double{in[i]} - mean) * (double{in[i]} - mean);
    power = static_cast<float>(sum);
  }
  const float scale = 1.0f / std::sqrt(power / static_cast<float>(n) + op.eps);
  for (uint32_t i = 0; i < n; ++i) {
    float y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    out[i] = op.accumulate ? out[i] + y : y;
  }
}

void Walker::run(const NormOp& op, const Hints&, uint32_t member) {
  share(row_list(op.rows).n_rows, member,
        [&](uint32_t r) { normalize(op, act(op.in, r), act(op.out, r), n_cols(op.in)); });
}

float* Walker::rotation(const RopeStoreOp& op, uint32_t row) const {
  return scratch_.rotations() + size_t{row} * op.head_dim;
}

void Walker::find_rotation(const RopeStoreOp& op, uint32_t row) const {
  float* to = rotation(op, row);
  for (uint32_t i = 0; i < op.n_rot / 2; ++i) {
    const double angle = double{vector(op.inv_freq)[i]} * batch_->positions[row];
    to[2 * i] = static_cast<float>(std::cos(angle) * op.rope_scale);
    to[2 * i + 1] = static_cast<float>(std::sin(angle) * op.rope_scale);
  }
}

void Walker::rotate_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const {
  NormOp head_norm{};
  head_norm.weight = norm;
  head_norm.eps = op.norm_eps;
  const uint32_t half = op.n_rot / 2;
  for (uint32_t h = 0; norm != kNoWeight && h < n_heads; ++h) {
    normalize(head_norm, heads + size_t{h} * op.head_dim, heads + size_t{h} * op.head_dim, op.head_dim);
  }
  if (op.inv_freq == kNoWeight) return;
  const float* rotations = rotation(op, row);
  for (uint32_t h = 0; h < n_heads; ++h) {
    float* head = heads + size_t{h} * op.head_dim;
    for (uint32_t i = 0; i < half; ++i) {
      const float a = head[i], b = head[i + half], c = rotations[2 * i], s = rotations[2 * i + 1];
      head[i] = a * c - b * s;
      head[i + half] = a * s + b * c;
    }
  }
}

void Walker::run(const RopeStoreOp& op, const Hints& hints, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const auto after = std::upper_bound(batch_->seqs.begin(), batch_->seqs.end(), r,
                                        [](uint32_t row, const BatchSequence& seq) { return row < seq.first_row; });
    const BatchSequence& seq = *std::prev(after);
    if (op.inv_freq != kNoWeight && hints.rotates) find_rotation(op, r);
    rotate_heads(op, act(op.q, r), op.n_heads, op.q_norm, r);
    rotate_heads(op, act(op.k, r), op.n_kv_heads, op.k_norm, r);
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
      const size_t at = size_t{h} * op.head_dim;
      cache_.store(seq.block_tables.of(cache_.group_of(op.layer)), op.layer, h, pos, act(op.k, r) + at,
                   act(op.v, r) + at);
    }
  });
}

void Walker::run(const SelectRowsOp& op, const Hints&, uint32_t member) {
  share(static_cast<uint32_t>(batch_->logit_rows.size()), member,
        [&](uint32_t i) { std::copy_n(act(op.in, batch_->logit_rows[i]), n_cols(op.in), act(op.out, i)); });
}

}  // namespace realizar
