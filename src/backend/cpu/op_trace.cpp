#include "backend/cpu/op_trace.h"

#include <chrono>

#include "backend/ops.h"

namespace realizar::cpu {
namespace {

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

OpWork work_of(const Op& op, size_t n_expert_groups, const StepBatch& batch, const WeightStore& weights,
               KvType cache_type) {
  OpWork work;
  const auto count = [&](WeightId id, uint64_t n_rows, uint64_t n_mats_read) {
    const PackedMatrix& m = weights.matrix(id);
    work.bytes += n_mats_read * m.n_panels() * m.panel_bytes;
    work.flops += 2 * n_rows * m.n_rows * m.n_cols;
  };
  const uint64_t n_rows = batch.n_rows();
  const auto rows_of = [&](Rows rows) { return rows == Rows::kAll ? n_rows : batch.logit_rows.size(); };
  if (const auto* linear = std::get_if<LinearOp>(&op)) {
    count(linear->weight, rows_of(linear->rows), 1);
  }
  if (const auto* gated = std::get_if<GatedLinearOp>(&op)) {
    count(gated->gate, n_rows, 1);
    count(gated->up, n_rows, 1);
  }
  if (const auto* experts = std::get_if<ExpertsOp>(&op)) {
    for (const WeightId id : {experts->gate, experts->up, experts->down}) {
      count(id, n_rows * experts->n_used, n_expert_groups);
    }
  }
  if (const auto* heads = std::get_if<HeadLinearOp>(&op)) {
    count(heads->weight, n_rows * heads->n_heads, heads->n_heads);
  }
  if (const auto* down = std::get_if<AdapterDownOp>(&op)) count(down->down, rows_of(down->rows), n_adapters(batch));
  if (const auto* up = std::get_if<AdapterUpOp>(&op)) count(up->up, rows_of(up->rows), n_adapters(batch));
  if (const auto* attention = std::get_if<AttentionOp>(&op)) return attention_work(*attention, batch, cache_type);
  return work;
}

}  // namespace

void OpTrace::reserve(size_t n_ops) {
  timings_.reserve(n_ops);
  if (ends_.size() < n_ops) ends_.resize(n_ops);
}

void OpTrace::start() {
  start_ns_ = now_ns();
}

void OpTrace::end(size_t op_idx, size_t n_expert_groups) {
  ends_[op_idx] = {now_ns(), n_expert_groups};
}

void OpTrace::finish(const Plan& plan, const StepBatch& batch, const WeightStore& weights, KvType cache_type) {
  const bool is_decode = batch.n_decode_rows == batch.n_rows();
  uint64_t start_ns = start_ns_;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i].op;
    const OpWork work = work_of(op, ends_[i].n_expert_groups, batch, weights, cache_type);
    timings_.push_back(
        {kind_of(op), place_of(op), is_decode, start_ns, ends_[i].ns - start_ns, work.bytes, work.flops});
    start_ns = ends_[i].ns;
  }
}

}  // namespace realizar::cpu
