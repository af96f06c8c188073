#include "backend/cpu/runners/exchange_runner.h"

#include <algorithm>

namespace realizar::cpu {
namespace {

constexpr uint32_t kBlockFloats = 4096;  // per addition by one member

}  // namespace

size_t ExchangeRunner::join_floats(const Plan& plan) const {
  return plan.scratch.join_floats > 0 ? exchange_.join_floats(plan.scratch.join_floats) : 0;
}

std::span<float> ExchangeRunner::rows_of(ActId act, Rows rows) const {
  return {step_.act(act), size_t{step_.row_list(rows).n_rows} * step_.n_cols(act)};
}

void ExchangeRunner::run(const JoinOp& op, const Hints&, uint32_t member) {
  const size_t n_floats = size_t{step_.batch().n_rows()} * step_.n_cols(op.out);
  if (member == 0) join_range_ = exchange_.begin_join({step_.act(op.part), n_floats}, step_.scratch().joins());
  step_.barrier(member);
  const Sharing::Range range = join_range_;
  step_.share((range.n + kBlockFloats - 1) / kBlockFloats, member, [&](uint32_t block) {
    const uint32_t first = block * kBlockFloats, n = std::min(kBlockFloats, range.n - first);
    add_parts(op, range, first, n);
  });
  step_.barrier(member);
  if (member == 0) exchange_.end_join({step_.act(op.out), n_floats});
}

void ExchangeRunner::add_parts(const JoinOp& op, Sharing::Range range, uint32_t first, uint32_t n) const {
  float sums[kBlockFloats];
  const float* parts = step_.scratch().joins().data() + first;
  std::copy_n(parts, n, sums);
  for (uint32_t r = 1; r < exchange_.n_ranks(); ++r) kernels_.axpy(1.0f, parts + size_t{r} * range.n, sums, n);
  float* out = step_.act(op.out) + range.first + first;
  if (op.accumulate) {
    kernels_.axpy(1.0f, sums, out, n);
  } else {
    std::copy_n(sums, n, out);
  }
}

void ExchangeRunner::run(const CollectOp& op, const Hints&, uint32_t member) {
  if (member == 0) exchange_.collect(op, step_.row_list(op.rows).n_rows, step_.act(op.part), step_.act(op.out));
}

void ExchangeRunner::run(const SendOp& op, const Hints&, uint32_t member) {
  if (member == 0) exchange_.send(op.to, rows_of(op.act, op.rows));
}

void ExchangeRunner::run(const ReceiveOp& op, const Hints&, uint32_t member) {
  if (member == 0) exchange_.receive(op.from, rows_of(op.act, op.rows));
}

}  // namespace realizar::cpu
