#include "backend/cpu/runners/head_linear_runner.h"

#include <algorithm>

#include "backend/cpu/runners/products.h"

namespace realizar::cpu {

void HeadLinearRunner::reserve(const Plan& plan) {
  const size_t n_slots = size_t{step_.limits().max_rows} * plan.scratch.n_head_slots;
  if (slots_.size() < n_slots) slots_.resize(n_slots);
}

void HeadLinearRunner::run(const HeadLinearOp& op, const Hints&, uint32_t member) {
  const PackedMatrix& m = step_.matrix(op.weight);
  const uint32_t n_rows = step_.batch().n_rows(), n_decode = step_.batch().n_decode_rows;
  const float* parts = head_parts(op, m.n_cols, member);
  if (member == 0) {
    for (uint32_t h = 0; h < op.n_heads; ++h) {
      for (uint32_t r = 0; r < n_rows; ++r) slots_[size_t{h} * n_rows + r] = r * op.n_heads + h;
    }
  }
  const RowList slots{step_.identity(), n_decode * op.n_heads, n_rows * op.n_heads};
  prepare_rows(step_, step_.scratch().prepared_heads(), parts, m, slots, member);
  const Operand in{parts, &step_.scratch().prepared_heads(), set_of(slots)};
  float* acc = step_.scratch().accumulators(member, 0);
  const PairItems items = pair_items(step_, m, step_.row_list(Rows::kAll));
  step_.share(op.n_heads * items.n_each(), member, [&](uint32_t item) {
    const uint32_t head = item / items.n_each();
    const PairRange pairs = items.range(item);
    const RowList list{&slots_[size_t{head} * n_rows], n_decode, n_rows};
    multiply_pairs(kernels_, m, head, pairs, in, list, acc, step_.scratch().products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) {
      const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, m.n_rows - first);
      for (uint32_t r = 0; r < n_rows; ++r) {
        const float* from = sums_of(acc, list, p) + size_t{r} * kPairRows;
        std::copy_n(from, n, step_.act(op.out, r) + size_t{head} * op.out_width + first);
      }
    }
  });
}

// A slot is a row and a head: row * n_heads + head. Heads that are wider than the product's input are gathered first.
const float* HeadLinearRunner::head_parts(const HeadLinearOp& op, uint32_t n_cols, uint32_t member) const {
  if (op.in_width == n_cols) return step_.act(op.in);
  float* parts = step_.scratch().head_parts();
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) {
    for (uint32_t h = 0; h < op.n_heads; ++h) {
      std::copy_n(step_.act(op.in, r) + size_t{h} * op.in_width, n_cols, parts + (size_t{r} * op.n_heads + h) * n_cols);
    }
  });
  step_.barrier(member);
  return parts;
}

}  // namespace realizar::cpu
