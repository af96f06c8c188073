// The operations that take each row by itself: embedding, norms, rotations with the cache, the rows that want logits.
#include <algorithm>
#include <cmath>

#include "backend/cpu/walker.h"
#include "base/check.h"

namespace realizar::cpu {
namespace {

// Into [-limit, limit]; 0: as they are.
void clip(float* values, uint32_t n, float limit) {
  for (uint32_t i = 0; limit > 0 && i < n; ++i) values[i] = std::clamp(values[i], -limit, limit);
}

}  // namespace

void Walker::run(const EmbedOp& op, const Hints&, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    float* out = act(op.out, r);
    const auto id = static_cast<uint32_t>(to_index(batch_->tokens[r]));
    const uint32_t n_ids = matrix(op.table).n_rows;
    read_row(kernels_, matrix(op.table), id % n_ids, false, scratch_.tile(member), out);
    if (op.scale != 1.0f) kernels_.scale(op.scale, out, n_cols(op.out));
    if (op.type_table != kNoWeight) {
      read_row(kernels_, matrix(op.type_table), id / n_ids, true, scratch_.tile(member), out);
    }
    if (op.position_table == kNoWeight) return;
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    read_row(kernels_, matrix(op.position_table), pos, true, scratch_.tile(member), out);
  });
}

// Of the group that begins at column `at`: `in`, `out`, weight and bias are read from there on.
// What it is normalized to is multiplied by `magnitude`.
void Walker::normalize(const NormOp& op, const float* in, float* out, uint32_t n, uint32_t at, float magnitude) const {
  const float mean = op.kind == NormKind::kLayer ? kernels_.sum(in, n) / static_cast<float>(n) : 0.0f;
  const float* weight = op.weight == kNoWeight ? nullptr : vector(op.weight) + at;
  const float* bias = op.bias == kNoWeight ? nullptr : vector(op.bias) + at;
  float power;
  if (op.kind == NormKind::kRms) {
    power = kernels_.dot_f32(in, in, n);
  } else {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += (double{in[i]} - mean) * (double{in[i]} - mean);
    power = static_cast<float>(sum);
  }
  const float scale = magnitude / std::sqrt(power / static_cast<float>(n) + op.eps);
  for (uint32_t i = 0; i < n; ++i) {
    float y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    y = op.accumulate ? out[i] + y : y;
    out[i] = op.scale == 1.0f ? y : y * op.scale;
  }
}

void Walker::run(const NormOp& op, const Hints&, uint32_t member) {
  const uint32_t n = n_cols(op.in) / op.n_groups;
  share(row_list(op.rows).n_rows, member, [&](uint32_t r) {
    float magnitude = 1.0f;
    if (op.like != kNoAct) {
      const uint32_t n_like = n_cols(op.like);
      const float power = kernels_.dot_f32(act(op.like, r), act(op.like, r), n_like);
      magnitude = std::sqrt(power / static_cast<float>(n_like));
    }
    for (uint32_t at = 0; at < n * op.n_groups; at += n) {
      normalize(op, act(op.in, r) + at, act(op.out, r) + at, n, at, magnitude);
    }
  });
}

float* Walker::rotation(uint32_t row) const {
  return scratch_.rotations() + size_t{row} * scratch_.rotation_cols();
}

void Walker::find_rotation(const Angles& angles, uint32_t row) const {
  float* to = rotation(row);
  for (uint32_t i = 0; i < angles.n_rot / 2; ++i) {
    const double angle = double{vector(angles.inv_freq)[i]} * batch_->positions[row];
    to[2 * i] = static_cast<float>(std::cos(angle) * angles.scale);
    to[2 * i + 1] = static_cast<float>(std::sin(angle) * angles.scale);
  }
}

void Walker::rotate(float* head, uint32_t n_rot, const float* rotations) {
  const uint32_t half = n_rot / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const float a = head[i], b = head[i + half], c = rotations[2 * i], s = rotations[2 * i + 1];
    head[i] = a * c - b * s;
    head[i + half] = a * s + b * c;
  }
}

void Walker::normalize_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm) const {
  NormOp head_norm{};
  head_norm.weight = norm;
  head_norm.eps = op.norm_eps;
  for (uint32_t h = 0; norm != kNoWeight && h < n_heads; ++h) {
    normalize(head_norm, heads + size_t{h} * op.head_dim, heads + size_t{h} * op.head_dim, op.head_dim);
  }
}

void Walker::prepare_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const {
  clip(heads, n_heads * op.head_dim, op.clip);
  if (!op.norms_last) normalize_heads(op, heads, n_heads, norm);
  for (uint32_t h = 0; op.inv_freq != kNoWeight && h < n_heads; ++h) {
    rotate(heads + size_t{h} * op.head_dim, op.n_rot, rotation(row));
  }
  if (op.norms_last) normalize_heads(op, heads, n_heads, norm);
}

const BatchSequence& Walker::seq_of(uint32_t row) const {
  const auto after = std::upper_bound(batch_->seqs.begin(), batch_->seqs.end(), row,
                                      [](uint32_t r, const BatchSequence& seq) { return r < seq.first_row; });
  return *std::prev(after);
}

void Walker::run(const RopeStoreOp& op, const Hints& hints, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const BatchSequence& seq = seq_of(r);
    if (op.inv_freq != kNoWeight && hints.rotates) find_rotation({op.inv_freq, op.n_rot, op.rope_scale}, r);
    prepare_heads(op, act(op.q, r), op.n_heads, op.q_norm, r);
    if (op.temperature > 0) {
      kernels_.scale(temperature_at(op, batch_->positions[r]), act(op.q, r), op.n_heads * op.head_dim);
    }
    if (op.k == kNoAct) return;
    prepare_heads(op, act(op.k, r), op.n_kv_heads, op.k_norm, r);
    clip(act(op.v, r), op.n_kv_heads * op.head_dim, op.clip);
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
      const size_t at = size_t{h} * op.head_dim;
      cache_.store(seq.block_tables.of(cache_.group_of(op.layer)), op.layer, h, pos, act(op.k, r) + at,
                   act(op.v, r) + at);
    }
  });
}

void Walker::run(const GateOp& op, const Hints&, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) { n_cols(op.gate) == 1 ? gate_row(op, r) : gate_columns(op, r); });
}

void Walker::gate_row(const GateOp& op, uint32_t row) const {
  const float *in = act(op.in, row), gate = act(op.gate, row)[0];
  const float factor = op.is_factor ? gate : 1.0f / (1.0f + std::exp(-gate));
  float* out = act(op.out, row);
  for (uint32_t i = 0; i < n_cols(op.out); ++i) {
    const float y = in[i] * factor;
    out[i] = op.accumulate ? out[i] + y : y;
  }
}

void Walker::gate_columns(const GateOp& op, uint32_t row) const {
  constexpr uint32_t kAtOnce = 64;
  float factors[kAtOnce];
  const float *in = act(op.in, row), *gates = act(op.gate, row) + op.gate_col;
  float* out = act(op.out, row);
  for (uint32_t first = 0; first < n_cols(op.out); first += kAtOnce) {
    const uint32_t n = std::min(kAtOnce, n_cols(op.out) - first);
    std::copy_n(gates + first, n, factors);
    if (!op.is_factor) kernels_.map(MapKind::kSigmoid, factors, n);
    for (uint32_t i = 0; i < n; ++i) {
      const float y = in[first + i] * factors[i];
      out[first + i] = op.accumulate ? out[first + i] + y : y;
    }
  }
}

void Walker::run(const CutOp& op, const Hints&, uint32_t member) {
  const uint32_t n = n_cols(op.in);
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const float* in = act(op.in, r);
    float* out = act(op.out, r);
    const float mean = kernels_.sum(in, n) / static_cast<float>(n);
    double power = 0;
    for (uint32_t i = 0; i < n; ++i) power += (double{in[i]} - mean) * (double{in[i]} - mean);
    const float least = mean + op.n_stds * static_cast<float>(std::sqrt(power / n));
    for (uint32_t i = 0; i < n; ++i) out[i] = std::max(0.0f, in[i] - least);
    kernels_.map(map_kind(op.activation), out, n);
  });
}

void Walker::run(const SelectRowsOp& op, const Hints&, uint32_t member) {
  share(static_cast<uint32_t>(batch_->logit_rows.size()), member,
        [&](uint32_t i) { std::copy_n(act(op.in, batch_->logit_rows[i]), n_cols(op.in), act(op.out, i)); });
}

}  // namespace realizar::cpu
