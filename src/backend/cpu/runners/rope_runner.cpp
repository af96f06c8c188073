#include "backend/cpu/runners/rope_runner.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/runners/normalize.h"

namespace realizar::cpu {
namespace {

// Clamps to [-limit, limit]; 0: no limit.
void clip(float* values, uint32_t n, float limit) {
  for (uint32_t i = 0; limit > 0 && i < n; ++i) values[i] = std::clamp(values[i], -limit, limit);
}

float temperature_at(const Temperature& temperature, Pos pos) {
  const uint32_t n_steps = temperature.n_steps(static_cast<uint32_t>(pos));
  return static_cast<float>(1 + temperature.slope * std::log(1.0 + n_steps));
}

NormOp rms_norm(float eps) {
  NormOp norm{};
  norm.eps = eps;
  return norm;
}

void rotate(float* head, uint32_t n_rot, const float* rotations) {
  const uint32_t half = n_rot / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const float a = head[i], b = head[i + half], c = rotations[2 * i], s = rotations[2 * i + 1];
    head[i] = a * c - b * s;
    head[i + half] = a * s + b * c;
  }
}

}  // namespace

void RopeRunner::run(const RopeStoreOp& op, const Hints& hints, uint32_t member) {
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) {
    const BatchSequence& seq = step_.seq_of(r);
    if (op.inv_freq != kNoWeight && hints.rotates) find_rotation(op.inv_freq, op.n_rot, op.rope_scale, r);
    prepare_heads(op, step_.act(op.q, r), op.n_heads, op.q_norm, r);
    if (op.temperature.is_on()) {
      kernels_.scale(temperature_at(op.temperature, step_.batch().positions[r]), step_.act(op.q, r),
                     op.n_heads * op.head_dim);
    }
    if (op.k == kNoAct) return;
    prepare_heads(op, step_.act(op.k, r), op.n_kv_heads, op.k_norm, r);
    clip(step_.act(op.v, r), op.n_kv_heads * op.head_dim, op.clip);
    const auto pos = static_cast<uint32_t>(step_.batch().positions[r]);
    for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
      const size_t at = size_t{h} * op.head_dim;
      cache_.store(seq.block_tables.of(cache_.group_of(op.layer)), op.layer, h, pos, step_.act(op.k, r) + at,
                   step_.act(op.v, r) + at);
    }
  });
}

void RopeRunner::run(const LatentStoreOp& op, const Hints& hints, uint32_t member) {
  const NormOp norm = rms_norm(op.norm_eps);
  const uint32_t key_dim = op.latent_dim + op.n_rot;
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) {
    if (op.inv_freq != kNoWeight && hints.rotates) find_rotation(op.inv_freq, op.n_rot, op.rope_scale, r);
    const auto turn = [&](float* rotated) {
      if (op.inv_freq != kNoWeight) rotate(rotated, op.n_rot, rotation(r));
    };
    for (uint32_t h = 0; h < op.n_heads; ++h) {
      float* rotated = step_.act(op.query, r) + size_t{h} * key_dim + op.latent_dim;
      std::copy_n(step_.act(op.q, r) + size_t{h + 1} * op.query_dim - op.n_rot, op.n_rot, rotated);
      turn(rotated);
    }
    if (op.temperature.is_on()) {
      kernels_.scale(temperature_at(op.temperature, step_.batch().positions[r]), step_.act(op.query, r),
                     op.n_heads * key_dim);
    }
    float* key = step_.act(op.latent, r);
    normalize(kernels_, norm, step_.vector(op.norm), nullptr, key, key, op.latent_dim);
    turn(key + op.latent_dim);
    const BatchSequence& seq = step_.seq_of(r);
    const auto pos = static_cast<uint32_t>(step_.batch().positions[r]);
    cache_.store(seq.block_tables.of(cache_.group_of(op.layer)), op.layer, 0, pos, key, nullptr);
  });
}

void RopeRunner::find_rotation(WeightId inv_freq, uint32_t n_rot, float scale, uint32_t row) const {
  float* to = rotation(row);
  for (uint32_t i = 0; i < n_rot / 2; ++i) {
    const double angle = double{step_.vector(inv_freq)[i]} * step_.batch().positions[row];
    to[2 * i] = static_cast<float>(std::cos(angle) * scale);
    to[2 * i + 1] = static_cast<float>(std::sin(angle) * scale);
  }
}

float* RopeRunner::rotation(uint32_t row) const {
  return step_.scratch().rotations() + size_t{row} * step_.scratch().rotation_cols();
}

void RopeRunner::prepare_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm,
                               uint32_t row) const {
  clip(heads, n_heads * op.head_dim, op.clip);
  if (!op.norms_last) normalize_heads(op, heads, n_heads, norm);
  for (uint32_t h = 0; op.inv_freq != kNoWeight && h < n_heads; ++h) {
    rotate(heads + size_t{h} * op.head_dim, op.n_rot, rotation(row));
  }
  if (op.norms_last) normalize_heads(op, heads, n_heads, norm);
}

void RopeRunner::normalize_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm) const {
  const NormOp head_norm = rms_norm(op.norm_eps);
  for (uint32_t h = 0; norm != kNoWeight && h < n_heads; ++h) {
    float* head = heads + size_t{h} * op.head_dim;
    normalize(kernels_, head_norm, step_.vector(norm), nullptr, head, head, op.head_dim);
  }
}

}  // namespace realizar::cpu
