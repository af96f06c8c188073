#include "backend/cpu/runners/expert_runner.h"

#include <algorithm>

#include "backend/cpu/runners/activations.h"
#include "backend/cpu/runners/products.h"
#include "base/check.h"

namespace realizar::cpu {

void ExpertRunner::reserve(const Plan& plan) {
  const size_t n_slots = size_t{step_.limits().max_rows} * plan.scratch.n_used;
  groups_.reserve(n_slots);
  slots_.reserve(n_slots);
  slot_rows_.reserve(n_slots);
}

void ExpertRunner::group_by_expert(const ExpertsOp& op) {
  const uint32_t n_slots = step_.batch().n_rows() * op.n_used;
  REQUIRE(n_slots <= slots_.capacity());
  const auto expert_of = [&](uint32_t slot) { return static_cast<uint32_t>(step_.act(op.ids)[slot]); };
  slots_.clear();
  for (uint32_t i = 0; i < n_slots; ++i) {
    if (holds(op, expert_of(i))) slots_.push_back(i);
  }
  slot_rows_.resize(slots_.size());
  // std::sort works in place; slots are distinct, so the order is total.
  std::sort(slots_.begin(), slots_.end(),
            [&](uint32_t a, uint32_t b) { return expert_of(a) != expert_of(b) ? expert_of(a) < expert_of(b) : a < b; });
  groups_.clear();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    slot_rows_[i] = slots_[i] / op.n_used;
    const uint32_t expert = expert_of(slots_[i]) - op.first_expert;
    if (groups_.empty() || groups_.back().expert != expert) groups_.push_back({expert, i, 0, 0});
    ++groups_.back().n_slots;
    if (slot_rows_[i] < step_.batch().n_decode_rows) ++groups_.back().n_decode;
  }
}

// Whether gate and up read rows in different forms, so that the rows are prepared for each.
bool ExpertRunner::has_mixed_forms(const ExpertsOp& op) const {
  return prefill_form(kernels_, step_.matrix(op.gate)) != prefill_form(kernels_, step_.matrix(op.up));
}

// Scales products of a group's slots, n outputs from `first` on, and adds the bias, before the activation.
void ExpertRunner::finish_rows(const ExpertsOp& op, WeightId bias, const Group& group, uint32_t first, uint32_t n,
                               float* rows) const {
  for (uint32_t i = 0; op.weighs_input && i < group.n_slots; ++i) {
    kernels_.scale(step_.act(op.weights)[slots_[group.first + i]], rows + size_t{i} * kPairRows, n);
  }
  for (uint32_t i = 0; bias != kNoWeight && i < group.n_slots; ++i) {
    kernels_.axpy(1.0f, step_.vector(bias) + size_t{group.expert} * op.d_ff + first, rows + size_t{i} * kPairRows, n);
  }
}

// A group has at most max_rows slots, since route chooses distinct experts for a row.
void ExpertRunner::make_gates(const ExpertsOp& op, const Group& group, PairRange pairs, uint32_t member) const {
  const PackedMatrix& gate = step_.matrix(op.gate);
  const RowList list{slot_rows_.data() + group.first, group.n_decode, group.n_slots};
  const Operand in{step_.act(op.in), &step_.scratch().prepared(), set_of(step_.row_list(Rows::kAll))};
  float* acc = step_.scratch().accumulators(member, 0);
  multiply_pairs(kernels_, gate, group.expert, pairs, in, list, acc, step_.scratch().products(member));
  for (uint32_t p = 0; p < pairs.n; ++p) {
    const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, gate.n_rows - first);
    float* g = sums_of(acc, list, p);
    finish_rows(op, op.gate_bias, group, first, n, g);
    for (uint32_t i = 0; i < group.n_slots; ++i) {
      kernels_.map(map_kind(op.activation), g + size_t{i} * kPairRows, n);
      float* out = step_.scratch().hidden() + size_t{slots_[group.first + i]} * gate.n_rows + first;
      std::copy_n(g + size_t{i} * kPairRows, n, out);
    }
  }
}

void ExpertRunner::make_hidden(const ExpertsOp& op, const Group& group, PairRange pairs, uint32_t member) const {
  const PackedMatrix& up = step_.matrix(op.up);
  const RowList list{slot_rows_.data() + group.first, group.n_decode, group.n_slots};
  const Operand in{step_.act(op.in), &step_.scratch().prepared(), set_of(step_.row_list(Rows::kAll))};
  if (!has_mixed_forms(op)) make_gates(op, group, pairs, member);
  float* acc = step_.scratch().accumulators(member, 1);
  multiply_pairs(kernels_, up, group.expert, pairs, in, list, acc, step_.scratch().products(member));
  const MapKind up_kind = op.activation == Activation::kClampedSwiglu ? MapKind::kClampedPlusOne : MapKind::kNone;
  for (uint32_t p = 0; p < pairs.n; ++p) {
    const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, up.n_rows - first);
    float* u = sums_of(acc, list, p);
    finish_rows(op, op.up_bias, group, first, n, u);
    for (uint32_t i = 0; i < group.n_slots; ++i) {
      kernels_.map(up_kind, u + size_t{i} * kPairRows, n);
      float* out = step_.scratch().hidden() + size_t{slots_[group.first + i]} * up.n_rows + first;
      for (uint32_t j = 0; j < n; ++j) out[j] *= u[size_t{i} * kPairRows + j];
    }
  }
}

void ExpertRunner::make_outputs(const ExpertsOp& op, const Group& group, PairRange pairs, uint32_t member) const {
  const PackedMatrix& down = step_.matrix(op.down);
  const RowList list{slots_.data() + group.first, group.n_decode, group.n_slots};
  const RowSet slots{step_.batch().n_decode_rows * op.n_used, step_.batch().n_rows() * op.n_used};
  const Operand in{step_.scratch().hidden(), &step_.scratch().prepared_hidden(), slots};
  float* acc = step_.scratch().accumulators(member, 0);
  multiply_pairs(kernels_, down, group.expert, pairs, in, list, acc, step_.scratch().products(member));
  for (uint32_t p = 0; p < pairs.n; ++p) {
    const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, down.n_rows - first);
    for (uint32_t i = 0; i < group.n_slots; ++i) {
      float* out = step_.scratch().partial() + size_t{slots_[group.first + i]} * down.n_rows + first;
      std::copy_n(sums_of(acc, list, p) + size_t{i} * kPairRows, n, out);
    }
  }
}

void ExpertRunner::run(const ExpertsOp& op, const Hints&, uint32_t member) {
  const PackedMatrix &gate = step_.matrix(op.gate), &up = step_.matrix(op.up), &down = step_.matrix(op.down);
  const RowList rows = step_.row_list(Rows::kAll);
  // An item is some pairs of panels of one chosen expert; the groups are known once rows are prepared.
  const auto share_pairs = [&](const PackedMatrix& m, auto method) {
    const PairItems items = pair_items(step_, m, rows);
    step_.share(static_cast<uint32_t>(groups_.size()) * items.n_each(), member,
                [&](uint32_t item) { (this->*method)(op, groups_[item / items.n_each()], items.range(item), member); });
  };
  if (member == 0) group_by_expert(op);
  if (has_mixed_forms(op)) {
    prepare(step_, op.in, gate, rows, member);
    share_pairs(gate, &ExpertRunner::make_gates);
    step_.barrier(member);
  }
  prepare(step_, op.in, up, rows, member);
  share_pairs(up, &ExpertRunner::make_hidden);
  step_.barrier(member);
  const RowList slots{step_.identity(), rows.n_decode * op.n_used, rows.n_rows * op.n_used};
  prepare_rows(step_, step_.scratch().prepared_hidden(), step_.scratch().hidden(), down, slots, member);
  share_pairs(down, &ExpertRunner::make_outputs);
  step_.barrier(member);
  step_.share(rows.n_rows, member, [&](uint32_t r) { add_outputs(op, r); });
}

void ExpertRunner::add_outputs(const ExpertsOp& op, uint32_t row) const {
  const uint32_t n = step_.matrix(op.down).n_rows;
  for (uint32_t k = 0; k < op.n_used; ++k) {
    const auto expert = static_cast<uint32_t>(step_.act(op.ids, row)[k]);
    if (!holds(op, expert)) continue;
    const float weight = op.weighs_input ? 1.0f : step_.act(op.weights, row)[k];
    const float* from = step_.scratch().partial() + (size_t{row} * op.n_used + k) * n;
    kernels_.axpy(weight, from, step_.act(op.out, row), n);
    if (op.down_bias == kNoWeight) continue;
    const size_t at = size_t{expert - op.first_expert} * n;
    kernels_.axpy(weight, step_.vector(op.down_bias) + at, step_.act(op.out, row), n);
  }
}

}  // namespace realizar::cpu
