// The attention operation of StepRunner: its tasks, and the merging of decode rows that were cut in parts.
#include "backend/cpu/step_runner.h"

namespace realizar {
namespace {

constexpr uint32_t kHeadsAtOnce = 4;  // whose pages a part's thread reads in one run

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
    const bool is_decode = seq.first_row < batch_->n_decode_rows;
    if (is_decode && seq.n_rows == 1 && pos >= kSplitPositions) {
      for (uint32_t part = 0; part < n_parts(pos); ++part) units_.push_back({s, 0, part, n_parts_++});
    } else {
      const uint32_t n_rows = is_decode ? 1 : unit_rows_;
      for (uint32_t row = 0; row < seq.n_rows; row += n_rows) units_.push_back({s, row, 0, kNoPart});
    }
  }
}

Status StepRunner::reserve_attention(const AttentionOp& op) {
  const uint32_t group = op.n_heads / op.n_kv_heads;
  const size_t n_bytes = (attention_scratch(op) + 2 * sums_floats(op, max_queries(op))) * sizeof(float);
  for (Member& member : members_) {
    if (member.attention.size() >= n_bytes) continue;
    RZ_TRY(member.attention, Pages::allocate(n_bytes));
  }
  const size_t max_parts = size_t{limits_.max_seqs} * n_parts(limits_.max_context);
  const size_t part_bytes = max_parts * op.n_kv_heads * sums_floats(op, group) * sizeof(float);
  if (limits_.max_context <= kSplitPositions || parts_.size() >= part_bytes) return {};
  RZ_TRY(parts_, Pages::allocate(part_bytes));
  return {};
}

float* StepRunner::part(const AttentionOp& op, uint32_t index, uint32_t kv_head) const {
  return parts_.as<float>() + (size_t{index} * op.n_kv_heads + kv_head) * sums_floats(op, op.n_heads / op.n_kv_heads);
}

// Goes through the parts that the rows see one after the other; where a decode row is alone, different threads take
// them.
void StepRunner::attend_rows(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head, uint32_t member) {
  const BatchSequence& seq = batch_->seqs[unit.seq];
  const uint32_t row = seq.first_row + unit.first_row, group = op.n_heads / op.n_kv_heads;
  const bool is_decode = row < batch_->n_decode_rows;
  const uint32_t n_rows = is_decode ? 1 : std::min(unit_rows_, seq.n_rows - unit.first_row);
  const uint32_t first_pos = static_cast<uint32_t>(seq.first_pos) + unit.first_row;
  const uint32_t first_part = first_seen(op, first_pos) / kSplitPositions;
  AttentionTask task{.op = &op,
                     .blocks = seq.block_table,
                     .q = act(op.q, row),
                     .n_rows = n_rows,
                     .first_pos = first_pos,
                     .first_kv_head = kv_head,
                     .n_kv_heads = 1,
                     .prefill = !is_decode,
                     .begin = first_part * kSplitPositions,
                     .end = (first_part + 1) * kSplitPositions};
  const uint32_t n_queries = n_rows * group;
  float* scratch = members_[member].attention.as<float>();
  float* sums = scratch + attention_scratch(op);
  float* later = sums + sums_floats(op, n_queries);
  attend(task, kernels_, cache_, sums, scratch);
  for (uint32_t part = first_part + 1; part < n_parts(first_pos + n_rows - 1); ++part) {
    task.begin = part * kSplitPositions;
    task.end = task.begin + kSplitPositions;
    attend(task, kernels_, cache_, later, scratch);
    merge(op, n_queries, sums_at(sums, n_queries), sums_at(later, n_queries));
  }
  write_attention(op, kv_head, n_rows, sums_at(sums, n_queries), act(op.out, row));
}

void StepRunner::attend_part(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head, uint32_t member) {
  const BatchSequence& seq = batch_->seqs[unit.seq];
  const AttentionTask task{.op = &op,
                           .blocks = seq.block_table,
                           .q = act(op.q, seq.first_row),
                           .n_rows = 1,
                           .first_pos = static_cast<uint32_t>(seq.first_pos),
                           .first_kv_head = kv_head,
                           .n_kv_heads = std::min(kHeadsAtOnce, op.n_kv_heads - kv_head),
                           .prefill = false,
                           .begin = unit.part * kSplitPositions,
                           .end = (unit.part + 1) * kSplitPositions};
  attend(task, kernels_, cache_, part(op, unit.part_index, kv_head), members_[member].attention.as<float>());
}

void StepRunner::merge_parts(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head) {
  const uint32_t group = op.n_heads / op.n_kv_heads;
  const BatchSequence& seq = batch_->seqs[unit.seq];
  const AttentionSums sums = sums_at(part(op, unit.part_index, kv_head), group);
  for (uint32_t i = 1; i < n_parts(static_cast<uint32_t>(seq.first_pos)); ++i) {
    merge(op, group, sums, sums_at(part(op, unit.part_index + i, kv_head), group));
  }
  write_attention(op, kv_head, 1, sums, act(op.out, seq.first_row));
}

void StepRunner::run(const AttentionOp& op, uint32_t member) {
  const uint32_t n_items = static_cast<uint32_t>(units_.size()) * op.n_kv_heads;
  share(n_items, member, [&](uint32_t item) {
    const AttentionUnit& unit = units_[item / op.n_kv_heads];
    const uint32_t kv_head = item % op.n_kv_heads;
    if (unit.part_index == kNoPart) {
      attend_rows(op, unit, kv_head, member);
    } else if (kv_head % kHeadsAtOnce == 0) {
      attend_part(op, unit, kv_head, member);
    }
  });
  if (n_parts_ == 0) return;
  team_.barrier();
  share(n_items, member, [&](uint32_t item) {
    const AttentionUnit& unit = units_[item / op.n_kv_heads];
    if (unit.part_index != kNoPart && unit.part == 0) merge_parts(op, unit, item % op.n_kv_heads);
  });
}

}  // namespace realizar
