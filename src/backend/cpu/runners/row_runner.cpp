#include "backend/cpu/runners/row_runner.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/runners/activations.h"
#include "backend/cpu/runners/normalize.h"

namespace realizar::cpu {

void RowRunner::run(const EmbedOp& op, const Hints&, uint32_t member) {
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) {
    float* out = step_.act(op.out, r);
    const auto id = static_cast<uint32_t>(to_index(step_.batch().tokens[r]));
    const uint32_t n_ids = step_.matrix(op.table).n_rows;
    read_row(kernels_, step_.matrix(op.table), id % n_ids, false, step_.scratch().tile(member), out);
    if (op.scale != 1.0f) kernels_.scale(op.scale, out, step_.n_cols(op.out));
    if (op.type_table != kNoWeight) {
      read_row(kernels_, step_.matrix(op.type_table), id / n_ids, true, step_.scratch().tile(member), out);
    }
    if (op.position_table == kNoWeight) return;
    const auto pos = static_cast<uint32_t>(step_.batch().positions[r]);
    read_row(kernels_, step_.matrix(op.position_table), pos, true, step_.scratch().tile(member), out);
  });
}

void RowRunner::run(const NormOp& op, const Hints&, uint32_t member) {
  const uint32_t n = step_.n_cols(op.in) / op.n_groups;
  const float *weight = step_.vector(op.weight), *bias = step_.vector(op.bias);
  step_.share(step_.row_list(op.rows).n_rows, member, [&](uint32_t r) {
    float magnitude = 1.0f;
    if (op.like != kNoAct) {
      const uint32_t n_like = step_.n_cols(op.like);
      const float power = kernels_.dot_f32(step_.act(op.like, r), step_.act(op.like, r), n_like);
      magnitude = std::sqrt(power / static_cast<float>(n_like));
    }
    for (uint32_t at = 0; at < n * op.n_groups; at += n) {
      normalize(kernels_, op, weight == nullptr ? nullptr : weight + at, bias == nullptr ? nullptr : bias + at,
                step_.act(op.in, r) + at, step_.act(op.out, r) + at, n, magnitude);
    }
  });
}

void RowRunner::run(const GateOp& op, const Hints&, uint32_t member) {
  step_.share(step_.batch().n_rows(), member,
              [&](uint32_t r) { step_.n_cols(op.gate) == 1 ? gate_row(op, r) : gate_columns(op, r); });
}

void RowRunner::gate_row(const GateOp& op, uint32_t row) const {
  const float *in = step_.act(op.in, row), gate = step_.act(op.gate, row)[0];
  const float factor = op.is_factor ? gate : 1.0f / (1.0f + std::exp(-gate));
  float* out = step_.act(op.out, row);
  for (uint32_t i = 0; i < step_.n_cols(op.out); ++i) {
    const float y = in[i] * factor;
    out[i] = op.accumulate ? out[i] + y : y;
  }
}

void RowRunner::gate_columns(const GateOp& op, uint32_t row) const {
  constexpr uint32_t kAtOnce = 64;
  float factors[kAtOnce];
  const float *in = step_.act(op.in, row), *gates = step_.act(op.gate, row) + op.gate_col;
  float* out = step_.act(op.out, row);
  for (uint32_t first = 0; first < step_.n_cols(op.out); first += kAtOnce) {
    const uint32_t n = std::min(kAtOnce, step_.n_cols(op.out) - first);
    std::copy_n(gates + first, n, factors);
    if (!op.is_factor) kernels_.map(MapKind::kSigmoid, factors, n);
    for (uint32_t i = 0; i < n; ++i) {
      const float y = in[first + i] * factors[i];
      out[first + i] = op.accumulate ? out[first + i] + y : y;
    }
  }
}

void RowRunner::run(const CutOp& op, const Hints&, uint32_t member) {
  const uint32_t n = step_.n_cols(op.in);
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) {
    const float* in = step_.act(op.in, r);
    float* out = step_.act(op.out, r);
    const float mean = kernels_.sum(in, n) / static_cast<float>(n);
    double power = 0;
    for (uint32_t i = 0; i < n; ++i) power += (double{in[i]} - mean) * (double{in[i]} - mean);
    const float least = mean + op.n_stds * static_cast<float>(std::sqrt(power / n));
    for (uint32_t i = 0; i < n; ++i) out[i] = std::max(0.0f, in[i] - least);
    kernels_.map(map_kind(op.activation), out, n);
  });
}

void RowRunner::run(const SelectRowsOp& op, const Hints&, uint32_t member) {
  step_.share(static_cast<uint32_t>(step_.batch().logit_rows.size()), member, [&](uint32_t i) {
    std::copy_n(step_.act(op.in, step_.batch().logit_rows[i]), step_.n_cols(op.in), step_.act(op.out, i));
  });
}

}  // namespace realizar::cpu
