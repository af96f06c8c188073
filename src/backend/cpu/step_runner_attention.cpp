// The attention operation of StepRunner: its tasks, and the merging of decode rows that were cut in parts.
#include "backend/cpu/step_runner.h"

namespace realizar {
namespace {

// Floats of the sums of `n` queries, their states first.
size_t sums_floats(const AttentionOp& op, uint32_t n) {
  return size_t{n} * (sizeof(Softmax) / sizeof(float) + padded_head_dim(op.head_dim));
}

AttentionSums sums_at(float* memory, uint32_t n) {
  return {reinterpret_cast<Softmax*>(memory), memory + size_t{n} * (sizeof(Softmax) / sizeof(float))};
}

uint32_t n_parts(uint32_t pos) {
  return pos / kSplitPositions + 1;
}

}  // namespace

// Units are the same for every layer of a model, so they and their memory are made once a step.
void StepRunner::plan_attention(const AttentionOp& op) {
  if (query_rows(op) == unit_rows_) return;
  unit_rows_ = query_rows(op);
  units_.clear();
  n_parts_ = 0;
  for (uint32_t s = 0; s < batch_->seqs.size(); ++s) {
    const BatchSequence& seq = batch_->seqs[s];
    const auto pos = static_cast<uint32_t>(seq.first_pos);
    if (seq.first_row < batch_->n_decode_rows && pos >= kSplitPositions) {
      for (uint32_t part = 0; part < n_parts(pos); ++part) units_.push_back({s, 0, part, n_parts_++});
    } else {
      for (uint32_t row = 0; row < seq.n_rows; row += unit_rows_) units_.push_back({s, row, 0, kNoPart});
    }
  }
}

Status StepRunner::reserve_attention(const AttentionOp& op) {
  const size_t n_bytes = (attention_scratch(op) + sums_floats(op, n_queries(op))) * sizeof(float);
  for (Member& member : members_) {
    if (member.attention.size() >= n_bytes) continue;
    RZ_TRY(member.attention, Pages::allocate(n_bytes));
  }
  const size_t max_parts = size_t{limits_.max_seqs} * n_parts(limits_.max_context);
  const size_t part_bytes = max_parts * op.n_kv_heads * sums_floats(op, op.n_heads / op.n_kv_heads) * sizeof(float);
  if (limits_.max_context <= kSplitPositions || parts_.size() >= part_bytes) return {};
  RZ_TRY(parts_, Pages::allocate(part_bytes));
  return {};
}

AttentionSums StepRunner::part(const AttentionOp& op, uint32_t index, uint32_t kv_head) const {
  const uint32_t group = op.n_heads / op.n_kv_heads;
  return sums_at(parts_.as<float>() + (size_t{index} * op.n_kv_heads + kv_head) * sums_floats(op, group), group);
}

void StepRunner::attend_unit(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head, uint32_t member) {
  const BatchSequence& seq = batch_->seqs[unit.seq];
  const uint32_t row = seq.first_row + unit.first_row, n_rows = std::min(unit_rows_, seq.n_rows - unit.first_row);
  const bool whole = unit.part_index == kNoPart;
  const AttentionTask task{.op = &op,
                           .blocks = seq.block_table,
                           .q = act(op.q, row),
                           .n_rows = n_rows,
                           .first_pos = static_cast<uint32_t>(seq.first_pos) + unit.first_row,
                           .kv_head = kv_head,
                           .begin = unit.part * kSplitPositions,
                           .end = whole ? ~0u : (unit.part + 1) * kSplitPositions};
  float* scratch = members_[member].attention.as<float>();
  if (!whole) return attend(task, kernels_, cache_, part(op, unit.part_index, kv_head), scratch);
  const AttentionSums sums = sums_at(scratch + attention_scratch(op), n_rows * (op.n_heads / op.n_kv_heads));
  attend(task, kernels_, cache_, sums, scratch);
  write_attention(op, kv_head, n_rows, sums, act(op.out, row));
}

void StepRunner::run(const AttentionOp& op, uint32_t member) {
  const auto n_units = static_cast<uint32_t>(units_.size());
  share(n_units * op.n_kv_heads, member,
        [&](uint32_t item) { attend_unit(op, units_[item / op.n_kv_heads], item % op.n_kv_heads, member); });
  if (n_parts_ == 0) return;
  team_.barrier();
  share(n_units * op.n_kv_heads, member, [&](uint32_t item) {
    const AttentionUnit& unit = units_[item / op.n_kv_heads];
    if (unit.part_index == kNoPart || unit.part != 0) return;
    const uint32_t kv_head = item % op.n_kv_heads;
    const BatchSequence& seq = batch_->seqs[unit.seq];
    const AttentionSums sums = part(op, unit.part_index, kv_head);
    for (uint32_t i = 1; i < n_parts(static_cast<uint32_t>(seq.first_pos)); ++i) {
      merge(op, sums, part(op, unit.part_index + i, kv_head));
    }
    write_attention(op, kv_head, 1, sums, act(op.out, seq.first_row));
  });
}

}  // namespace realizar
