// Exchanges of ranks that share a program. The first member of the team sends and receives, the whole team
// adds; each sum is of one element, so which member makes it never changes it.
#include <algorithm>

#include "backend/cpu/walker.h"

namespace realizar::cpu {
namespace {

constexpr uint32_t kBlockFloats = 4096;  // that a member adds at a time

}  // namespace

void Walker::run(const JoinOp& op, const Hints&, uint32_t member) {
  const size_t n_floats = size_t{batch_->n_rows()} * n_cols(op.out);
  if (member == 0) join_range_ = exchange_.begin_join({act(op.part), n_floats}, scratch_.joins());
  team_.barrier(member);
  const Sharing::Range range = join_range_;
  share((range.n + kBlockFloats - 1) / kBlockFloats, member, [&](uint32_t block) {
    const uint32_t first = block * kBlockFloats, n = std::min(kBlockFloats, range.n - first);
    add_parts(op, range, first, n);
  });
  team_.barrier(member);
  if (member == 0) exchange_.end_join({act(op.out), n_floats});
}

void Walker::add_parts(const JoinOp& op, Sharing::Range range, uint32_t first, uint32_t n) const {
  float sums[kBlockFloats];
  const float* parts = scratch_.joins().data() + first;
  std::copy_n(parts, n, sums);
  for (uint32_t r = 1; r < exchange_.n_ranks(); ++r) kernels_.axpy(1.0f, parts + size_t{r} * range.n, sums, n);
  float* out = act(op.out) + range.first + first;
  if (op.accumulate) {
    kernels_.axpy(1.0f, sums, out, n);
  } else {
    std::copy_n(sums, n, out);
  }
}

void Walker::run(const CollectOp& op, const Hints&, uint32_t member) {
  if (member == 0) exchange_.collect(op, row_list(op.rows).n_rows, act(op.part), act(op.out));
}

void Walker::run(const SendOp& op, const Hints&, uint32_t member) {
  if (member == 0) exchange_.send(op.to, {act(op.act), size_t{row_list(op.rows).n_rows} * n_cols(op.act)});
}

void Walker::run(const ReceiveOp& op, const Hints&, uint32_t member) {
  if (member == 0) exchange_.receive(op.from, {act(op.act), size_t{row_list(op.rows).n_rows} * n_cols(op.act)});
}

}  // namespace realizar::cpu
