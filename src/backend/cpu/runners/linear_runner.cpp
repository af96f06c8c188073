#include "backend/cpu/runners/linear_runner.h"

#include <algorithm>

#include "backend/cpu/runners/activations.h"
#include "backend/cpu/runners/products.h"

namespace realizar::cpu {

void LinearRunner::finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc) const {
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, step_.matrix(op.weight).n_rows - first);
  for (uint32_t r = 0; r < list.n_rows; ++r) {
    float* y = acc + size_t{r} * kPairRows;
    if (op.bias != kNoWeight) kernels_.axpy(1.0f, step_.vector(op.bias) + first, y, n);
    finish(kernels_, op.epilogue, y, n);
    float* out = step_.act(op.out, r) + first;
    if (op.accumulate) {
      kernels_.axpy(1.0f, y, out, n);
    } else {
      std::copy_n(y, n, out);
    }
  }
}

void LinearRunner::run(const LinearOp& op, const Hints& hints, uint32_t member) {
  const PackedMatrix& m = step_.matrix(op.weight);
  RowList list = step_.row_list(op.rows);
  // A prompt has few logit rows, so no whole matrix is unpacked to bf16 tiles for them.
  if (op.rows == Rows::kLogits && kernels_.has_bf16()) list.n_decode = list.n_rows;
  if (hints.prepares) prepare(step_, op.in, m, list, member);
  const Operand in{step_.act(op.in), &step_.scratch().prepared(), set_of(list)};
  float* acc = step_.scratch().accumulators(member, 0);
  const PairItems items = pair_items(step_, m, list);
  step_.share(items.n_each(), member, [&](uint32_t item) {
    const PairRange pairs = items.range(item);
    multiply_pairs(kernels_, m, 0, pairs, in, list, acc, step_.scratch().products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) finish_linear(op, list, pairs.first + p, sums_of(acc, list, p));
  });
}

// If up reads the rows in another form than gate, they are prepared for each, and op.out holds the activated gate.
void LinearRunner::run(const GatedLinearOp& op, const Hints&, uint32_t member) {
  const PackedMatrix &gate = step_.matrix(op.gate), &up = step_.matrix(op.up);
  const RowList list = step_.row_list(Rows::kAll);
  const Operand in{step_.act(op.in), &step_.scratch().prepared(), set_of(list)};
  float *g = step_.scratch().accumulators(member, 0), *u = step_.scratch().accumulators(member, 1);
  const auto n_outputs = [&](uint32_t pair) { return std::min(kPairRows, up.n_rows - pair * kPairRows); };
  const auto multiply_gate = [&](PairRange pairs) {
    multiply_pairs(kernels_, gate, 0, pairs, in, list, g, step_.scratch().products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) {
      for (uint32_t r = 0; r < list.n_rows; ++r) {
        float* y = sums_of(g, list, p) + size_t{r} * kPairRows;
        kernels_.map(map_kind(op.activation), y, n_outputs(pairs.first + p));
      }
    }
  };
  const bool mixed = prefill_form(kernels_, gate) != prefill_form(kernels_, up);
  if (mixed) {
    prepare(step_, op.in, gate, list, member);
    const PairItems items = pair_items(step_, gate, list);
    step_.share(items.n_each(), member, [&](uint32_t item) {
      const PairRange pairs = items.range(item);
      multiply_gate(pairs);
      for (uint32_t p = 0; p < pairs.n; ++p) {
        const uint32_t pair = pairs.first + p;
        for (uint32_t r = 0; r < list.n_rows; ++r) {
          std::copy_n(sums_of(g, list, p) + size_t{r} * kPairRows, n_outputs(pair),
                      step_.act(op.out, r) + pair * kPairRows);
        }
      }
    });
    step_.barrier(member);
  }
  prepare(step_, op.in, up, list, member);
  const PairItems items = pair_items(step_, up, list);
  step_.share(items.n_each(), member, [&](uint32_t item) {
    const PairRange pairs = items.range(item);
    if (!mixed) multiply_gate(pairs);
    multiply_pairs(kernels_, up, 0, pairs, in, list, u, step_.scratch().products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) {
      const uint32_t first = (pairs.first + p) * kPairRows, n = n_outputs(pairs.first + p);
      for (uint32_t r = 0; r < list.n_rows; ++r) {
        const float* gates = sums_of(g, list, p) + size_t{r} * kPairRows;
        const float* ups = sums_of(u, list, p) + size_t{r} * kPairRows;
        float* out = step_.act(op.out, r) + first;
        for (uint32_t i = 0; i < n; ++i) out[i] = (mixed ? out[i] : gates[i]) * ups[i];
      }
    }
  });
}

}  // namespace realizar::cpu
