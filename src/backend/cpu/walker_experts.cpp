// Mixtures of experts: routing, and the chosen experts' feed-forward. Rows are grouped by
// expert, so that each chosen expert's weights are read once a step; each (row, rank) slot is computed apart and the
// slots of a row are added in order of rank.
#include <algorithm>
#include <cmath>

#include "backend/cpu/walker.h"
#include "base/check.h"

namespace realizar {

void Walker::run(const RouteOp& op, const Hints&, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const float* logits = act(op.logits, r);
    float* ids = act(op.ids, r);
    float* weights = act(op.weights, r);
    const double max = *std::max_element(logits, logits + op.n_experts);
    double sum = 0, chosen_sum = 0;
    for (uint32_t e = 0; e < op.n_experts; ++e) sum += std::exp(logits[e] - max);
    for (uint32_t k = 0; k < op.n_used; ++k) {
      uint32_t best = op.n_experts;
      for (uint32_t e = 0; e < op.n_experts; ++e) {
        const bool taken = std::find(ids, ids + k, static_cast<float>(e)) != ids + k;
        if (!taken && (best == op.n_experts || logits[e] > logits[best])) best = e;
      }
      ids[k] = static_cast<float>(best);
      chosen_sum += std::exp(logits[best] - max);
    }
    const double total = op.renormalize ? chosen_sum : sum;
    for (uint32_t k = 0; k < op.n_used; ++k) {
      weights[k] = static_cast<float>(std::exp(logits[static_cast<uint32_t>(ids[k])] - max) / total * op.scale);
    }
  });
}

void Walker::group_by_expert(const ExpertsOp& op) {
  const uint32_t n_slots = batch_->n_rows() * op.n_used;
  REQUIRE(n_slots <= slots_.capacity());
  const auto expert_of = [&](uint32_t slot) { return static_cast<uint32_t>(act(op.ids)[slot]); };
  slots_.resize(n_slots);
  slot_rows_.resize(n_slots);
  for (uint32_t i = 0; i < n_slots; ++i) slots_[i] = i;
  // std::sort works in place; slots are distinct, so the order is total.
  std::sort(slots_.begin(), slots_.end(),
            [&](uint32_t a, uint32_t b) { return expert_of(a) != expert_of(b) ? expert_of(a) < expert_of(b) : a < b; });
  groups_.clear();
  for (uint32_t i = 0; i < n_slots; ++i) {
    slot_rows_[i] = slots_[i] / op.n_used;
    if (groups_.empty() || groups_.back().expert != expert_of(slots_[i])) {
      groups_.push_back({expert_of(slots_[i]), i, 0, 0});
    }
    ++groups_.back().n_slots;
    if (slot_rows_[i] < batch_->n_decode_rows) ++groups_.back().n_decode;
  }
}

// Whether gate and up read the rows in different forms, so that the rows are prepared once for each.
bool Walker::has_mixed_forms(const ExpertsOp& op) const {
  return prefill_form(kernels_, matrix(op.gate)) != prefill_form(kernels_, matrix(op.up));
}

// A group's slots can outnumber max_rows only if an expert were chosen twice for a row, which route never does.
void Walker::expert_gates(const ExpertsOp& op, uint32_t item, uint32_t member) {
  const PanelMatrix& gate = matrix(op.gate);
  const uint32_t n_items = n_pairs(gate), pair = item % n_items;
  const ExpertGroup& group = groups_[item / n_items];
  const RowList list{slot_rows_.data() + group.first, group.n_decode, group.n_slots};
  float* g = scratch_.accumulators(member, 0);
  multiply_pair(kernels_, gate, group.expert, pair, {act(op.in), &scratch_.prepared()}, list, g, scratch_.tile(member));
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, gate.n_rows - first);
  for (uint32_t i = 0; i < group.n_slots; ++i) {
    kernels_.map(map_kind(op.activation), g + size_t{i} * kPairRows, n);
    float* out = scratch_.hidden() + size_t{slots_[group.first + i]} * gate.n_rows + first;
    std::copy_n(g + size_t{i} * kPairRows, n, out);
  }
}

void Walker::expert_hidden(const ExpertsOp& op, uint32_t item, uint32_t member) {
  const PanelMatrix& up = matrix(op.up);
  const uint32_t n_items = n_pairs(up), pair = item % n_items;
  const ExpertGroup& group = groups_[item / n_items];
  const RowList list{slot_rows_.data() + group.first, group.n_decode, group.n_slots};
  if (!has_mixed_forms(op)) expert_gates(op, item, member);
  float* u = scratch_.accumulators(member, 1);
  multiply_pair(kernels_, up, group.expert, pair, {act(op.in), &scratch_.prepared()}, list, u, scratch_.tile(member));
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, up.n_rows - first);
  for (uint32_t i = 0; i < group.n_slots; ++i) {
    float* out = scratch_.hidden() + size_t{slots_[group.first + i]} * up.n_rows + first;
    for (uint32_t j = 0; j < n; ++j) out[j] *= u[size_t{i} * kPairRows + j];
  }
}

void Walker::expert_outputs(const ExpertsOp& op, uint32_t item, uint32_t member) {
  const PanelMatrix& down = matrix(op.down);
  const uint32_t n_items = n_pairs(down), pair = item % n_items;
  const ExpertGroup& group = groups_[item / n_items];
  const RowList list{slots_.data() + group.first, group.n_decode, group.n_slots};
  float* acc = scratch_.accumulators(member, 0);
  multiply_pair(kernels_, down, group.expert, pair, {scratch_.hidden(), &scratch_.prepared_hidden()}, list, acc,
                scratch_.tile(member));
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, down.n_rows - first);
  for (uint32_t i = 0; i < group.n_slots; ++i) {
    float* out = scratch_.partial() + size_t{slots_[group.first + i]} * down.n_rows + first;
    std::copy_n(acc + size_t{i} * kPairRows, n, out);
  }
}

void Walker::run(const ExpertsOp& op, const Hints&, uint32_t member) {
  const PanelMatrix &gate = matrix(op.gate), &up = matrix(op.up), &down = matrix(op.down);
  const RowList rows = row_list(Rows::kAll);
  // A pair of panels of one chosen expert is an item; the groups are known once rows are prepared.
  const auto n_items = [&](const PanelMatrix& m) { return static_cast<uint32_t>(groups_.size()) * n_pairs(m); };
  if (member == 0) group_by_expert(op);
  if (has_mixed_forms(op)) {
    prepare(op.in, gate, rows, member);
    share(n_items(gate), member, [&](uint32_t item) { expert_gates(op, item, member); });
    team_.barrier();
  }
  prepare(op.in, up, rows, member);
  share(n_items(up), member, [&](uint32_t item) { expert_hidden(op, item, member); });
  team_.barrier();
  const RowList slots{identity_.data(), rows.n_decode * op.n_used, rows.n_rows * op.n_used};
  prepare_rows(scratch_.prepared_hidden(), scratch_.hidden(), down, slots, member);
  share(n_items(down), member, [&](uint32_t item) { expert_outputs(op, item, member); });
  team_.barrier();
  share(rows.n_rows, member, [&](uint32_t r) {
    for (uint32_t k = 0; k < op.n_used; ++k) {
      const float* from = scratch_.partial() + (size_t{r} * op.n_used + k) * down.n_rows;
      kernels_.axpy(act(op.weights, r)[k], from, act(op.out, r), down.n_rows);
    }
  });
}

}  // namespace realizar
