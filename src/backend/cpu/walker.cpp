#include "backend/cpu/walker.h"

#include <algorithm>

#include "base/check.h"

namespace realizar::cpu {

void Walker::configure(const BackendLimits& limits) {
  limits_ = limits;
  scratch_.configure(limits, team_.size());
}

Status Walker::fit(const Plan& plan) {
  const size_t n_slots = size_t{limits_.max_rows} * plan.scratch.n_used;
  const size_t n_head_slots = size_t{limits_.max_rows} * plan.scratch.n_head_slots;
  const size_t n_units = limits_.max_rows + size_t{limits_.max_seqs} * (limits_.max_context / kSplitPositions + 1);
  for (size_t i = identity_.size();
       i < std::max({size_t{limits_.max_rows}, size_t{limits_.max_logit_rows}, n_slots, n_head_slots}); ++i) {
    identity_.push_back(static_cast<uint32_t>(i));
  }
  if (plan.ops.size() > n_ops_) {
    n_ops_ = plan.ops.size();
    taken_ = std::make_unique<std::atomic<uint32_t>[]>(n_ops_ * kLoopsPerOp * team_.size());
  }
  if (units_.size() < plan.unit_rows.size()) units_.resize(plan.unit_rows.size());
  for (AttentionUnits& units : units_) units.all.reserve(n_units);
  groups_.reserve(n_slots);
  slots_.reserve(n_slots);
  if (head_slots_.size() < n_head_slots) head_slots_.resize(n_head_slots);
  slot_rows_.reserve(n_slots);
  if (plan.has_adapters) {
    adapter_rows_[0].reserve(limits_.max_rows);
    adapter_rows_[1].reserve(limits_.max_logit_rows);
  }
  trace_.reserve(plan.ops.size());
  ScratchSizes sizes = plan.scratch;
  if (sizes.join_floats > 0) sizes.join_floats = exchange_.join_floats(sizes.join_floats);
  return scratch_.fit(sizes);
}

void Walker::run(const Plan& plan, const StepBatch& batch) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  plan_ = &plan;
  batch_ = &batch;
  trace_.clear();
  const auto is_decode = [&](uint32_t row) { return row < batch.n_decode_rows; };
  const auto n_logit_decode = std::count_if(batch.logit_rows.begin(), batch.logit_rows.end(), is_decode);
  all_rows_ = {identity_.data(), batch.n_decode_rows, batch.n_rows()};
  logit_rows_ = {identity_.data(), static_cast<uint32_t>(n_logit_decode),
                 static_cast<uint32_t>(batch.logit_rows.size())};
  for (size_t i = 0; i < plan.unit_rows.size(); ++i) units_[i].plan(batch, plan.unit_rows[i]);
  for (const bool of_logits : {false, true}) {
    if (plan.has_adapters) adapter_rows_[of_logits ? 1 : 0].plan(batch, of_logits);
  }
  for (size_t i = 0; i < plan.ops.size() * kLoopsPerOp * team_.size(); ++i) {
    taken_[i].store(0, std::memory_order_relaxed);
  }
  auto body = [this](uint32_t member) { walk(member); };
  team_.run(body);
  if (trace_on_) trace_.finish(plan, batch, weights_, cache_.type());
}

// Whoever watches sees an operation's inputs when all have finished it, before the next one changes them.
// A traced operation lasts from the barrier before it to the one after it: what the team waits for is its own time, and
// the first one does not pay for the team's waking up.
void Walker::walk(uint32_t member) {
  if (kernels_.configure_tiles != nullptr) kernels_.configure_tiles(kBf16TileRowBytes);
  if (trace_on_) team_.barrier(member);
  if (trace_on_ && member == 0) trace_.start();
  for (uint32_t i = 0; i < plan_->ops.size(); ++i) {
    const PlannedOp& planned = plan_->ops[i];
    phases_[member].n_loops = i * kLoopsPerOp;
    std::visit([&](const auto& op) { run(op, planned.hints, member); }, planned.op);
    if (planned.hints.barrier || trace_on_ || on_input_) team_.barrier(member);
    if (trace_on_ && member == 0) trace_.end(i, groups_.size());
    if (!on_input_) continue;
    if (member == 0) std::visit([&](const auto& op) { show_inputs(op); }, planned.op);
    team_.barrier(member);
  }
}

std::span<const float> Walker::read(ActId id) const {
  const Rows rows = plan_->acts[id].rows;
  return {act(id), size_t{row_list(rows).n_rows} * n_cols(id)};
}

}  // namespace realizar::cpu
