// Products with one matrix, and with the two of a gated pair.
#include <algorithm>
#include <cmath>

#include "backend/cpu/walker.h"

namespace realizar::cpu {

namespace {

void apply_xielu(const Xielu& c, float* x, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    const float own = x[i] > 0 ? c.alpha_p * x[i] * x[i] : c.alpha_n * (std::expm1(std::min(x[i], c.eps)) - x[i]);
    x[i] = own + c.beta * x[i];
  }
}

}  // namespace

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
    case Activation::kXielu:  // apply_xielu
      return MapKind::kNone;
    case Activation::kClampedSwiglu:
      return MapKind::kClampedSwiglu;
    case Activation::kNormalCdf:
      return MapKind::kNormalCdf;
    case Activation::kSigmoid:
      return MapKind::kSigmoid;
  }
  return MapKind::kNone;
}

void Walker::prepare_rows(PreparedRows& to, const float* source, const PanelMatrix& m, const RowList& list,
                          uint32_t member) {
  share(list.n_rows, member, [&](uint32_t r) {
    if (m.is_plain() && r < list.n_decode) return;  // such rows are read as they are
    to.prepare(kernels_, m, set_of(list), source + size_t{r} * m.n_cols, r);
  });
  team_.barrier(member);
}

void Walker::prepare(ActId id, const PanelMatrix& m, const RowList& list, uint32_t member) {
  prepare_rows(scratch_.prepared(), act(id), m, list, member);
}

template <class Product>
void Walker::activate(const Product& op, float* y, uint32_t n) const {
  kernels_.map(map_kind(op.activation), y, n);
  if (op.activation == Activation::kXielu) apply_xielu(op.xielu, y, n);
  if (op.scale != 1.0f) kernels_.scale(op.scale, y, n);
  if (op.softcap > 0) {
    kernels_.scale(1.0f / op.softcap, y, n);
    kernels_.map(MapKind::kTanh, y, n);
    kernels_.scale(op.softcap, y, n);
  }
}
template void Walker::activate(const AdapterUpOp& op, float* y, uint32_t n) const;

void Walker::finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc) {
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, matrix(op.weight).n_rows - first);
  for (uint32_t r = 0; r < list.n_rows; ++r) {
    float* y = acc + size_t{r} * kPairRows;
    if (op.bias != kNoWeight) kernels_.axpy(1.0f, vector(op.bias) + first, y, n);
    activate(op, y, n);
    float* out = act(op.out, r) + first;
    if (op.accumulate) {
      kernels_.axpy(1.0f, y, out, n);
    } else {
      std::copy_n(y, n, out);
    }
  }
}

void Walker::run(const LinearOp& op, const Hints& hints, uint32_t member) {
  const PanelMatrix& m = matrix(op.weight);
  RowList list = row_list(op.rows);
  // A prompt has few rows of logits: no whole matrix is unpacked to bf16 tiles for them.
  if (op.rows == Rows::kLogits && kernels_.has_bf16()) list.n_decode = list.n_rows;
  if (hints.prepares) prepare(op.in, m, list, member);
  const Operand in{act(op.in), &scratch_.prepared(), set_of(list)};
  float* acc = scratch_.accumulators(member, 0);
  const PairItems items = pair_items(m, list);
  share(items.n_each(), member, [&](uint32_t item) {
    const PairRange pairs = items.range(item);
    multiply_pairs(kernels_, m, 0, pairs, in, list, acc, scratch_.products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) finish_linear(op, list, pairs.first + p, sums_of(acc, list, p));
  });
}

// Where up reads the rows in another form than gate, they are prepared once for each, and the gate's values, activated,
// wait in op.out.
void Walker::run(const GatedLinearOp& op, const Hints&, uint32_t member) {
  const PanelMatrix &gate = matrix(op.gate), &up = matrix(op.up);
  const RowList list = row_list(Rows::kAll);
  const Operand in{act(op.in), &scratch_.prepared(), set_of(list)};
  float *g = scratch_.accumulators(member, 0), *u = scratch_.accumulators(member, 1);
  const auto n_outputs = [&](uint32_t pair) { return std::min(kPairRows, up.n_rows - pair * kPairRows); };
  const auto multiply_gate = [&](PairRange pairs) {
    multiply_pairs(kernels_, gate, 0, pairs, in, list, g, scratch_.products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) {
      for (uint32_t r = 0; r < list.n_rows; ++r) {
        float* y = sums_of(g, list, p) + size_t{r} * kPairRows;
        kernels_.map(map_kind(op.activation), y, n_outputs(pairs.first + p));
      }
    }
  };
  const bool mixed = prefill_form(kernels_, gate) != prefill_form(kernels_, up);
  if (mixed) {
    prepare(op.in, gate, list, member);
    const PairItems items = pair_items(gate, list);
    share(items.n_each(), member, [&](uint32_t item) {
      const PairRange pairs = items.range(item);
      multiply_gate(pairs);
      for (uint32_t p = 0; p < pairs.n; ++p) {
        const uint32_t pair = pairs.first + p;
        for (uint32_t r = 0; r < list.n_rows; ++r) {
          std::copy_n(sums_of(g, list, p) + size_t{r} * kPairRows, n_outputs(pair), act(op.out, r) + pair * kPairRows);
        }
      }
    });
    team_.barrier(member);
  }
  prepare(op.in, up, list, member);
  const PairItems items = pair_items(up, list);
  share(items.n_each(), member, [&](uint32_t item) {
    const PairRange pairs = items.range(item);
    if (!mixed) multiply_gate(pairs);
    multiply_pairs(kernels_, up, 0, pairs, in, list, u, scratch_.products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) {
      const uint32_t first = (pairs.first + p) * kPairRows, n = n_outputs(pairs.first + p);
      for (uint32_t r = 0; r < list.n_rows; ++r) {
        const float* gates = sums_of(g, list, p) + size_t{r} * kPairRows;
        const float* ups = sums_of(u, list, p) + size_t{r} * kPairRows;
        float* out = act(op.out, r) + first;
        for (uint32_t i = 0; i < n; ++i) out[i] = (mixed ? out[i] : gates[i]) * ups[i];
      }
    }
  });
}

}  // namespace realizar::cpu
