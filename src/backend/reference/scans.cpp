#include "backend/reference/scans.h"

#include <algorithm>
#include <cmath>

#include "backend/reference/arithmetic.h"

namespace realizar::reference {

void scan_row(Tensors& tensors, const StateScanOp& op, uint32_t r, uint32_t h, float* state) {
  const uint32_t group = h / (op.n_heads / op.n_groups);
  const float* x = tensors.act(op.x).row(r) + op.x_col + size_t{h} * op.head_dim;
  const float* b = tensors.act(op.b).row(r) + op.b_col + size_t{group} * op.d_state;
  const float* c = tensors.act(op.c).row(r) + op.c_col + size_t{group} * op.d_state;
  const double t = softplus(double{tensors.act(op.dt).row(r)[h]} + tensors.vector(op.dt_bias)[h]);
  for (uint32_t i = 0; i < op.head_dim; ++i) {
    double y = double{tensors.vector(op.d)[h]} * x[i];
    for (uint32_t k = 0; k < op.d_state; ++k) {
      const double a = tensors.vector(op.a)[size_t{h} * op.a_cols + (op.a_cols == 1 ? 0 : k)];
      float& s = state[size_t{i} * op.d_state + k];
      const double next = s * std::exp(t * a) + t * x[i] * b[k];
      s = static_cast<float>(next);
      y += next * c[k];
    }
    const size_t at = size_t{h} * op.head_dim + i;
    if (op.gate != kNoAct) y *= activated(Activation::kSilu, tensors.act(op.gate).row(r)[at]);
    tensors.act(op.out).row(r)[at] = static_cast<float>(y);
  }
}

void scan_row(Tensors& tensors, const DeltaRuleOp& op, uint32_t r, uint32_t h, float* state) {
  const uint32_t key_head = op.key_heads_in_turn ? h % op.n_key_heads : h / (op.n_heads / op.n_key_heads);
  const float* q = tensors.act(op.q).row(r) + op.q_col + size_t{key_head} * op.key_dim;
  const float* k = tensors.act(op.k).row(r) + op.k_col + size_t{key_head} * op.key_dim;
  const float* v = tensors.act(op.v).row(r) + op.v_col + size_t{h} * op.value_dim;
  float* decays = tensors.act(op.decay).row(r) + size_t{h} * op.decay_cols;
  for (uint32_t j = 0; j < op.decay_cols; ++j) {
    const double bias = tensors.vector(op.decay_bias)[size_t{h} * op.decay_cols + j];
    decays[j] = static_cast<float>(std::exp(tensors.vector(op.a)[h] * softplus(decays[j] + bias)));
  }
  float& share = tensors.act(op.beta).row(r)[h];
  share = static_cast<float>(sigmoid(share));
  for (uint32_t i = 0; i < op.value_dim; ++i) {
    const auto kept = [&](uint32_t j) {
      return double{decays[op.decay_cols == 1 ? 0 : j]} * state[size_t{j} * op.value_dim + i];
    };
    double learnt = 0, y = 0;
    for (uint32_t j = 0; j < op.key_dim; ++j) learnt += kept(j) * k[j];
    const double change = share * (v[i] - learnt);
    for (uint32_t j = 0; j < op.key_dim; ++j) {
      const double next = kept(j) + k[j] * change;
      state[size_t{j} * op.value_dim + i] = static_cast<float>(next);
      y += next * q[j];
    }
    tensors.act(op.out).row(r)[size_t{h} * op.value_dim + i] = static_cast<float>(y);
  }
}

void scan_row(Tensors& tensors, const WkvOp& op, uint32_t r, uint32_t h, float* state) {
  const uint32_t n = op.head_dim;
  const size_t at = size_t{h} * n;
  const auto head = [&](ActId id) { return tensors.act(id).row(r) + at; };
  float *decay = head(op.decay), *k = head(op.k), *v = head(op.v), *rate = head(op.rate), *removal = head(op.removal);
  const float *receptance = head(op.r), *rate_scale = tensors.vector(op.rate_scale) + at;
  double power = 0, bonus = 0;
  for (uint32_t j = 0; j < n; ++j) {
    removal[j] = k[j] * tensors.vector(op.removal_scale)[at + j];
    power += double{removal[j]} * removal[j];
  }
  const double length = std::max<double>(std::sqrt(power), kWkvLeastLength);
  for (uint32_t j = 0; j < n; ++j) {
    decay[j] = static_cast<float>(std::exp(-double{kWkvDecay} * sigmoid(decay[j])));
    const double share = sigmoid(rate[j]);
    removal[j] = static_cast<float>(removal[j] / length);
    rate[j] = static_cast<float>(share * removal[j]);
    k[j] = static_cast<float>(k[j] * (1 + (share - 1) * rate_scale[j]));
    bonus += double{receptance[j]} * k[j] * tensors.vector(op.bonus_scale)[at + j];
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (op.first_v != kNoAct) {
      float& share = head(op.v_share)[i];
      share = static_cast<float>(sigmoid(share));
      v[i] = static_cast<float>(v[i] + (double{head(op.first_v)[i]} - v[i]) * share);
    }
    double removed = 0, y = 0;
    for (uint32_t j = 0; j < n; ++j) removed += double{state[size_t{j} * n + i]} * removal[j];
    for (uint32_t j = 0; j < n; ++j) {
      float& s = state[size_t{j} * n + i];
      const double next = double{s} * decay[j] - removed * rate[j] + double{k[j]} * v[i];
      s = static_cast<float>(next);
      y += next * receptance[j];
    }
    head(op.out)[i] = static_cast<float>(y);
    head(op.bonus)[i] = static_cast<float>(bonus * v[i]);
  }
}

}  // namespace realizar::reference
