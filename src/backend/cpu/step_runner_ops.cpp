// What each operation of StepRunner does, except the mixture of experts.
#include <cmath>
#include <cstring>

#include "backend/cpu/step_runner.h"
#include "base/check.h"

namespace realizar {

MapKind map_kind(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return MapKind::kNone;
    case Activation::kSilu:
      return MapKind::kSilu;
    case Activation::kGelu:
      return MapKind::kGelu;
    case Activation::kGeluErf:
      return MapKind::kGeluErf;
    case Activation::kRelu:
      return MapKind::kRelu;
    case Activation::kReluSquared:
      return MapKind::kReluSquared;
  }
  return MapKind::kNone;
}

void StepRunner::run(const EmbedOp& op, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    float* out = act(op.out, r);
    read_row(kernels_, matrix(op.table), static_cast<uint32_t>(to_index(batch_->tokens[r])), false, tile(member), out);
    if (op.scale != 1.0f) kernels_.scale(op.scale, out, n_cols(op.out));
    if (op.position_table == kNoWeight) return;
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    read_row(kernels_, matrix(op.position_table), pos, true, tile(member), out);
  });
}

void StepRunner::normalize(const NormOp& op, const float* in, float* out, uint32_t n) const {
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

void StepRunner::run(const NormOp& op, uint32_t member) {
  share(row_list(op.rows).n_rows, member,
        [&](uint32_t r) { normalize(op, act(op.in, r), act(op.out, r), n_cols(op.in)); });
}

void StepRunner::prepare_rows(PreparedRows& to, const float* source, const PanelMatrix& m, const RowList& list,
                              uint32_t member) {
  share(list.n_rows, member, [&](uint32_t r) {
    const bool decode = r < list.n_decode;
    if (m.is_plain() && decode) return;  // such rows are read as they are
    to.prepare(kernels_, m, decode, source + size_t{r} * m.n_cols, r);
  });
  team_.barrier();
}

Operand StepRunner::prepare(ActId id, const PanelMatrix& m, const RowList& list, uint32_t member) {
  if (step(member).prepares) prepare_rows(prepared_, act(id), m, list, member);
  return {act(id), &prepared_};
}

void StepRunner::finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc) {
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, matrix(op.weight).n_rows - first);
  for (uint32_t r = 0; r < list.n_rows; ++r) {
    float* y = acc + size_t{r} * kPairRows;
    if (op.bias != kNoWeight) kernels_.axpy(1.0f, vector(op.bias) + first, y, n);
    kernels_.map(map_kind(op.activation), y, n);
    if (op.scale != 1.0f) kernels_.scale(op.scale, y, n);
    if (op.softcap > 0) {
      kernels_.scale(1.0f / op.softcap, y, n);
      kernels_.map(MapKind::kTanh, y, n);
      kernels_.scale(op.softcap, y, n);
    }
    float* out = act(op.out, r) + first;
    if (op.accumulate) {
      kernels_.axpy(1.0f, y, out, n);
    } else {
      std::copy_n(y, n, out);
    }
  }
}

void StepRunner::run(const LinearOp& op, uint32_t member) {
  const PanelMatrix& m = matrix(op.weight);
  const RowList list = row_list(op.rows);
  const Operand in = prepare(op.in, m, list, member);
  float* acc = accumulators(member, 0);
  const auto multiply = [&](uint32_t pair) {
    multiply_pair(kernels_, m, 0, pair, in, list, acc, tile(member));
    finish_linear(op, list, pair, acc);
  };
  share(n_pairs(m), member, multiply);
}

void StepRunner::run(const GatedLinearOp& op, uint32_t member) {
  const PanelMatrix &gate = matrix(op.gate), &up = matrix(op.up);
  const RowList list = row_list(Rows::kAll);
  float *g = accumulators(member, 0), *u = accumulators(member, 1);
  const bool mixed =
      prefill_form(kernels_, gate) != prefill_form(kernels_, up);  // the rows are then prepared once for each
  if (mixed) {
    const Operand in = prepare(op.in, gate, list, member);
    share(n_pairs(gate), member, [&](uint32_t pair) {
      multiply_pair(kernels_, gate, 0, pair, in, list, g, tile(member));
      const uint32_t first = pair * kPairRows, n = std::min(kPairRows, gate.n_rows - first);
      for (uint32_t r = 0; r < list.n_rows; ++r) {
        kernels_.map(map_kind(op.activation), g + size_t{r} * kPairRows, n);
        std::copy_n(g + size_t{r} * kPairRows, n, act(op.out, r) + first);
      }
    });
    team_.barrier();
  }
  const Operand in = prepare(op.in, up, list, member);
  const auto multiply = [&](uint32_t pair) {
    const uint32_t first = pair * kPairRows, n = std::min(kPairRows, up.n_rows - first);
    if (!mixed) multiply_pair(kernels_, gate, 0, pair, in, list, g, tile(member));
    multiply_pair(kernels_, up, 0, pair, in, list, u, tile(member));
    for (uint32_t r = 0; r < list.n_rows; ++r) {
      const size_t at = size_t{r} * kPairRows;
      float* out = act(op.out, r) + first;
      if (!mixed) kernels_.map(map_kind(op.activation), g + at, n);
      for (uint32_t i = 0; i < n; ++i) out[i] = (mixed ? out[i] : g[at + i]) * u[at + i];
    }
  };
  share(n_pairs(up), member, multiply);
}

float* StepRunner::rotations(const RopeStoreOp& op, uint32_t row) const {
  return rotations_.as<float>() + size_t{row} * op.head_dim;
}

void StepRunner::find_rotations(const RopeStoreOp& op, uint32_t row) const {
  float* to = rotations(op, row);
  for (uint32_t i = 0; i < op.n_rot / 2; ++i) {
    const double angle = double{vector(op.inv_freq)[i]} * batch_->positions[row];
    to[2 * i] = static_cast<float>(std::cos(angle) * op.rope_scale);
    to[2 * i + 1] = static_cast<float>(std::sin(angle) * op.rope_scale);
  }
}

void StepRunner::turn_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const {
  NormOp head_norm{};
  head_norm.weight = norm;
  head_norm.eps = op.norm_eps;
  const uint32_t half = op.n_rot / 2;
  for (uint32_t h = 0; norm != kNoWeight && h < n_heads; ++h) {
    normalize(head_norm, heads + size_t{h} * op.head_dim, heads + size_t{h} * op.head_dim, op.head_dim);
  }
  if (op.inv_freq == kNoWeight) return;
  const float* rotation = rotations(op, row);
  for (uint32_t h = 0; h < n_heads; ++h) {
    float* head = heads + size_t{h} * op.head_dim;
    for (uint32_t i = 0; i < half; ++i) {
      const float a = head[i], b = head[i + half], c = rotation[2 * i], s = rotation[2 * i + 1];
      head[i] = a * c - b * s;
      head[i + half] = a * s + b * c;
    }
  }
}

void StepRunner::run(const RopeStoreOp& op, uint32_t member) {
  const bool turns = step(member).turns;
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const auto after = std::upper_bound(batch_->seqs.begin(), batch_->seqs.end(), r,
                                        [](uint32_t row, const BatchSequence& seq) { return row < seq.first_row; });
    const BatchSequence& seq = *std::prev(after);
    if (op.inv_freq != kNoWeight && turns) find_rotations(op, r);
    turn_heads(op, act(op.q, r), op.n_heads, op.q_norm, r);
    turn_heads(op, act(op.k, r), op.n_kv_heads, op.k_norm, r);
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
      const size_t at = size_t{h} * op.head_dim;
      cache_.store(seq.block_table, op.layer, h, pos, act(op.k, r) + at, act(op.v, r) + at);
    }
  });
}

void StepRunner::run(const SelectRowsOp& op, uint32_t member) {
  share(static_cast<uint32_t>(batch_->logit_rows.size()), member,
        [&](uint32_t i) { std::copy_n(act(op.in, batch_->logit_rows[i]), n_cols(op.in), act(op.out, i)); });
}

}  // namespace realizar
