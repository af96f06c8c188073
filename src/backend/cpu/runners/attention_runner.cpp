#include "backend/cpu/runners/attention_runner.h"

#include <algorithm>

namespace realizar::cpu {
namespace {

constexpr uint32_t kGroupsAtOnce = 4;  // whose pages one thread reads together

}  // namespace

void AttentionRunner::reserve(const Plan& plan) {
  const BackendLimits& limits = step_.limits();
  const size_t n_units = limits.max_rows + size_t{limits.max_seqs} * (limits.max_context / kSplitPositions + 1);
  if (units_.size() < plan.unit_rows.size()) units_.resize(plan.unit_rows.size());
  for (AttentionUnits& units : units_) units.all.reserve(n_units);
}

void AttentionRunner::begin_step() {
  const std::vector<uint32_t>& unit_rows = step_.plan().unit_rows;
  for (size_t i = 0; i < unit_rows.size(); ++i) units_[i].plan(step_.batch(), unit_rows[i]);
}

float* AttentionRunner::part(const AttentionOp& op, uint32_t idx, uint32_t group) const {
  return step_.scratch().parts() + (size_t{idx} * n_groups(op) + group) * sums_floats(op, group_of(op));
}

// Processes all parts that the rows attend to in order; parts of a single decode row are distributed over threads.
void AttentionRunner::attend_rows(const AttentionOp& op, const AttentionUnits& units, const AttentionUnit& unit,
                                  uint32_t group, uint32_t member) const {
  const BatchSequence& seq = step_.batch().seqs[unit.seq];
  const uint32_t row = seq.first_row + unit.first_row;
  const bool is_decode = row < step_.batch().n_decode_rows;
  const uint32_t n_rows = is_decode ? 1 : std::min(units.n_rows_each, seq.n_rows - unit.first_row);
  const uint32_t first_pos = static_cast<uint32_t>(seq.first_pos) + unit.first_row;
  const uint32_t n_positions = static_cast<uint32_t>(seq.first_pos) + seq.n_rows;
  const uint32_t last_pos = op.end_seen(first_pos + n_rows - 1, n_positions) - 1;
  const uint32_t first_part = op.first_seen(first_pos) / kSplitPositions;
  AttentionTask task{.op = &op,
                     .blocks = seq.block_tables.of(cache_.group_of(op.layer)),
                     .q = step_.act(op.q, row),
                     .slopes = step_.vector(op.slopes),
                     .n_rows = n_rows,
                     .first_pos = first_pos,
                     .n_positions = n_positions,
                     .first_group = group,
                     .n_groups = 1,
                     .prefill = !is_decode,
                     .begin = first_part * kSplitPositions,
                     .end = (first_part + 1) * kSplitPositions};
  const uint32_t n_queries = n_rows * group_of(op);
  float* scratch = step_.scratch().attention(member);
  float* sums = scratch + attention_scratch(op);
  float* later = sums + sums_floats(op, n_queries);
  attend(task, kernels_, cache_, sums, scratch);
  for (uint32_t part = first_part + 1; part < n_parts(last_pos); ++part) {
    task.begin = part * kSplitPositions;
    task.end = task.begin + kSplitPositions;
    attend(task, kernels_, cache_, later, scratch);
    merge(op, n_queries, sums_at(sums, n_queries), sums_at(later, n_queries));
  }
  write_attention(op, group, n_rows, sums_at(sums, n_queries), step_.vector(op.sinks), step_.act(op.out, row));
}

void AttentionRunner::attend_part(const AttentionOp& op, const AttentionUnit& unit, uint32_t group,
                                  uint32_t member) const {
  const BatchSequence& seq = step_.batch().seqs[unit.seq];
  const AttentionTask task{.op = &op,
                           .blocks = seq.block_tables.of(cache_.group_of(op.layer)),
                           .q = step_.act(op.q, seq.first_row),
                           .slopes = step_.vector(op.slopes),
                           .n_rows = 1,
                           .first_pos = static_cast<uint32_t>(seq.first_pos),
                           .n_positions = static_cast<uint32_t>(seq.first_pos) + 1,
                           .first_group = group,
                           .n_groups = std::min(kGroupsAtOnce, n_groups(op) - group),
                           .prefill = false,
                           .begin = unit.part * kSplitPositions,
                           .end = (unit.part + 1) * kSplitPositions};
  attend(task, kernels_, cache_, part(op, unit.part_idx, group), step_.scratch().attention(member));
}

void AttentionRunner::merge_parts(const AttentionOp& op, const AttentionUnit& unit, uint32_t group) const {
  const BatchSequence& seq = step_.batch().seqs[unit.seq];
  const AttentionSums sums = sums_at(part(op, unit.part_idx, group), group_of(op));
  for (uint32_t i = 1; i < n_parts(static_cast<uint32_t>(seq.first_pos)); ++i) {
    merge(op, group_of(op), sums, sums_at(part(op, unit.part_idx + i, group), group_of(op)));
  }
  write_attention(op, group, 1, sums, step_.vector(op.sinks), step_.act(op.out, seq.first_row));
}

void AttentionRunner::run(const AttentionOp& op, const Hints& hints, uint32_t member) {
  const AttentionUnits& units = units_[hints.units_idx];
  const uint32_t n_items = static_cast<uint32_t>(units.all.size()) * n_groups(op);
  step_.share(n_items, member, [&](uint32_t item) {
    const AttentionUnit& unit = units.all[item / n_groups(op)];
    const uint32_t group = item % n_groups(op);
    if (unit.part_idx == AttentionUnit::kNoPart) {
      attend_rows(op, units, unit, group, member);
    } else if (group % kGroupsAtOnce == 0) {
      attend_part(op, unit, group, member);
    }
  });
  if (units.n_parts == 0) return;
  step_.barrier(member);
  step_.share(n_items, member, [&](uint32_t item) {
    const AttentionUnit& unit = units.all[item / n_groups(op)];
    if (unit.part_idx != AttentionUnit::kNoPart && unit.part == 0) merge_parts(op, unit, item % n_groups(op));
  });
}

}  // namespace realizar::cpu
