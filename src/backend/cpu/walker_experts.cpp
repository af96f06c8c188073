// Mixtures of experts: routing, and the chosen experts' feed-forward. Rows are grouped by
// expert, so that each chosen expert's weights are read once a step; each (row, rank) slot is computed apart and the
// slots of a row are added in order of rank.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "backend/cpu/walker.h"
#include "base/check.h"

namespace realizar::cpu {
namespace {

// What a row's experts are chosen by, and their weights before they are scaled.
class Router {
 public:
  Router(const RouteOp& op, const float* logits, const float* bias)
      : op_(op), logits_(logits), max_(*std::max_element(logits, logits + op.n_experts)) {
    if (op.score == RouteScore::kSoftmax) {
      sum_ = 0;
      for (uint32_t e = 0; e < op.n_experts; ++e) sum_ += std::exp(logits[e] - max_);
    }
    if (op.chooses_by_logits()) return;
    for (uint32_t e = 0; e < op.n_experts; ++e) keys_[e] = score(e) / sum_ + (bias == nullptr ? 0 : bias[e]);
    if (op.n_groups > 1) leave_groups();
  }

  double key(uint32_t expert) const { return op_.chooses_by_logits() ? logits_[expert] : keys_[expert]; }
  // Of a softmax, not yet divided by the sum of all.
  double score(uint32_t expert) const {
    return op_.score == RouteScore::kSoftmax ? std::exp(logits_[expert] - max_)
                                             : 1 / (1 + std::exp(-double{logits_[expert]}));
  }
  // SparseMixer's of the last of those chosen so far.
  double near_score(std::span<const float> chosen) const {
    const double max = logits_[static_cast<uint32_t>(chosen.back())];
    double sum = 1;
    for (uint32_t e = 0; e < op_.n_experts; ++e) {
      const double x = logits_[e];
      const bool is_near = max - x <= op_.near_share * std::max(std::fabs(x), max);
      if (is_near && std::ranges::find(chosen, static_cast<float>(e)) == chosen.end()) sum += std::exp(x - max);
    }
    return 1 / sum;
  }
  // What scores of those chosen are divided by.
  double total(double chosen_sum) const {
    if (!op_.renormalize) return sum_;
    return op_.score == RouteScore::kSoftmax ? chosen_sum : std::max<double>(chosen_sum, kLeastScoreSum);
  }

 private:
  // Leaves out all but the n_used_groups best groups.
  void leave_groups() {
    const uint32_t size = op_.n_experts / op_.n_groups;
    std::array<double, kMaxExperts> groups;
    for (uint32_t g = 0; g < op_.n_groups; ++g) groups[g] = group_key(&keys_[size_t{g} * size], size);
    const auto is_before = [&](uint32_t a, uint32_t b) {
      return groups[a] > groups[b] || (groups[a] == groups[b] && a < b);
    };
    for (uint32_t g = 0; g < op_.n_groups; ++g) {
      uint32_t n_before = 0;
      for (uint32_t other = 0; other < op_.n_groups; ++other) n_before += is_before(other, g) ? 1 : 0;
      if (n_before >= op_.n_used_groups)
        std::fill_n(&keys_[size_t{g} * size], size, -std::numeric_limits<double>::infinity());
    }
  }
  double group_key(const double* keys, uint32_t n) const {
    double best = keys[0], second = -std::numeric_limits<double>::infinity();
    for (uint32_t i = 1; i < n; ++i) {
      second = std::max(second, std::min(best, keys[i]));
      best = std::max(best, keys[i]);
    }
    return op_.n_group_best == 2 && n > 1 ? best + second : best;
  }

  const RouteOp& op_;
  const float* logits_;
  double max_, sum_ = 1;
  std::array<double, kMaxExperts> keys_;  // where logits do not choose
};

}  // namespace

void Walker::run(const RouteOp& op, const Hints&, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const Router router(op, act(op.logits, r), vector(op.bias));
    float* ids = act(op.ids, r);
    float* weights = act(op.weights, r);
    double chosen_sum = 0;
    for (uint32_t k = 0; k < op.n_used; ++k) {
      uint32_t best = op.n_experts;
      for (uint32_t e = 0; e < op.n_experts; ++e) {
        const bool taken = std::find(ids, ids + k, static_cast<float>(e)) != ids + k;
        if (!taken && (best == op.n_experts || router.key(e) > router.key(best))) best = e;
      }
      ids[k] = static_cast<float>(best);
      chosen_sum += router.score(best);
    }
    const double total = router.total(chosen_sum);
    const float* scales = vector(op.scales);
    for (uint32_t k = 0; k < op.n_used; ++k) {
      const auto id = static_cast<uint32_t>(ids[k]);
      const double own_scale = scales == nullptr ? 1 : scales[id];
      const double own = op.score == RouteScore::kSparseMixer ? router.near_score({ids, k + 1}) : router.score(id);
      weights[k] = static_cast<float>(own / total * op.scale * own_scale);
    }
  });
}

void Walker::group_by_expert(const ExpertsOp& op) {
  const uint32_t n_slots = batch_->n_rows() * op.n_used;
  REQUIRE(n_slots <= slots_.capacity());
  const auto expert_of = [&](uint32_t slot) { return static_cast<uint32_t>(act(op.ids)[slot]); };
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
    if (slot_rows_[i] < batch_->n_decode_rows) ++groups_.back().n_decode;
  }
}

// Whether gate and up read the rows in different forms, so that the rows are prepared once for each.
bool Walker::has_mixed_forms(const ExpertsOp& op) const {
  return prefill_form(kernels_, matrix(op.gate)) != prefill_form(kernels_, matrix(op.up));
}

// What is done to products of a group's slots, n of their outputs from `first` on, before they are activated.
void Walker::finish_expert_rows(const ExpertsOp& op, WeightId bias, const ExpertGroup& group, uint32_t first,
                                uint32_t n, float* rows) const {
  for (uint32_t i = 0; op.weighs_input && i < group.n_slots; ++i) {
    kernels_.scale(act(op.weights)[slots_[group.first + i]], rows + size_t{i} * kPairRows, n);
  }
  for (uint32_t i = 0; bias != kNoWeight && i < group.n_slots; ++i) {
    kernels_.axpy(1.0f, vector(bias) + size_t{group.expert} * op.d_ff + first, rows + size_t{i} * kPairRows, n);
  }
}

// A group's slots can outnumber max_rows only if an expert were chosen twice for a row, which route never does.
void Walker::expert_gates(const ExpertsOp& op, const ExpertGroup& group, PairRange pairs, uint32_t member) {
  const PanelMatrix& gate = matrix(op.gate);
  const RowList list{slot_rows_.data() + group.first, group.n_decode, group.n_slots};
  const Operand in{act(op.in), &scratch_.prepared(), set_of(row_list(Rows::kAll))};
  float* acc = scratch_.accumulators(member, 0);
  multiply_pairs(kernels_, gate, group.expert, pairs, in, list, acc, scratch_.products(member));
  for (uint32_t p = 0; p < pairs.n; ++p) {
    const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, gate.n_rows - first);
    float* g = sums_of(acc, list, p);
    finish_expert_rows(op, op.gate_bias, group, first, n, g);
    for (uint32_t i = 0; i < group.n_slots; ++i) {
      kernels_.map(map_kind(op.activation), g + size_t{i} * kPairRows, n);
      float* out = scratch_.hidden() + size_t{slots_[group.first + i]} * gate.n_rows + first;
      std::copy_n(g + size_t{i} * kPairRows, n, out);
    }
  }
}

void Walker::expert_hidden(const ExpertsOp& op, const ExpertGroup& group, PairRange pairs, uint32_t member) {
  const PanelMatrix& up = matrix(op.up);
  const RowList list{slot_rows_.data() + group.first, group.n_decode, group.n_slots};
  const Operand in{act(op.in), &scratch_.prepared(), set_of(row_list(Rows::kAll))};
  if (!has_mixed_forms(op)) expert_gates(op, group, pairs, member);
  float* acc = scratch_.accumulators(member, 1);
  multiply_pairs(kernels_, up, group.expert, pairs, in, list, acc, scratch_.products(member));
  const MapKind up_kind = op.activation == Activation::kClampedSwiglu ? MapKind::kClampedPlusOne : MapKind::kNone;
  for (uint32_t p = 0; p < pairs.n; ++p) {
    const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, up.n_rows - first);
    float* u = sums_of(acc, list, p);
    finish_expert_rows(op, op.up_bias, group, first, n, u);
    for (uint32_t i = 0; i < group.n_slots; ++i) {
      kernels_.map(up_kind, u + size_t{i} * kPairRows, n);
      float* out = scratch_.hidden() + size_t{slots_[group.first + i]} * up.n_rows + first;
      for (uint32_t j = 0; j < n; ++j) out[j] *= u[size_t{i} * kPairRows + j];
    }
  }
}

void Walker::expert_outputs(const ExpertsOp& op, const ExpertGroup& group, PairRange pairs, uint32_t member) {
  const PanelMatrix& down = matrix(op.down);
  const RowList list{slots_.data() + group.first, group.n_decode, group.n_slots};
  const RowSet slots{batch_->n_decode_rows * op.n_used, batch_->n_rows() * op.n_used};
  const Operand in{scratch_.hidden(), &scratch_.prepared_hidden(), slots};
  float* acc = scratch_.accumulators(member, 0);
  multiply_pairs(kernels_, down, group.expert, pairs, in, list, acc, scratch_.products(member));
  for (uint32_t p = 0; p < pairs.n; ++p) {
    const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, down.n_rows - first);
    for (uint32_t i = 0; i < group.n_slots; ++i) {
      float* out = scratch_.partial() + size_t{slots_[group.first + i]} * down.n_rows + first;
      std::copy_n(sums_of(acc, list, p) + size_t{i} * kPairRows, n, out);
    }
  }
}

void Walker::run(const ExpertsOp& op, const Hints&, uint32_t member) {
  const PanelMatrix &gate = matrix(op.gate), &up = matrix(op.up), &down = matrix(op.down);
  const RowList rows = row_list(Rows::kAll);
  // Some pairs of panels of one chosen expert are an item; the groups are known once rows are prepared.
  const auto share_pairs = [&](const PanelMatrix& m, auto method) {
    const PairItems items = pair_items(m, rows);
    share(static_cast<uint32_t>(groups_.size()) * items.n_each(), member,
          [&](uint32_t item) { (this->*method)(op, groups_[item / items.n_each()], items.range(item), member); });
  };
  if (member == 0) group_by_expert(op);
  if (has_mixed_forms(op)) {
    prepare(op.in, gate, rows, member);
    share_pairs(gate, &Walker::expert_gates);
    team_.barrier(member);
  }
  prepare(op.in, up, rows, member);
  share_pairs(up, &Walker::expert_hidden);
  team_.barrier(member);
  const RowList slots{identity_.data(), rows.n_decode * op.n_used, rows.n_rows * op.n_used};
  prepare_rows(scratch_.prepared_hidden(), scratch_.hidden(), down, slots, member);
  share_pairs(down, &Walker::expert_outputs);
  team_.barrier(member);
  share(rows.n_rows, member, [&](uint32_t r) {
    for (uint32_t k = 0; k < op.n_used; ++k) {
      const auto expert = static_cast<uint32_t>(act(op.ids, r)[k]);
      if (!holds(op, expert)) continue;
      const float weight = op.weighs_input ? 1.0f : act(op.weights, r)[k];
      const float* from = scratch_.partial() + (size_t{r} * op.n_used + k) * down.n_rows;
      kernels_.axpy(weight, from, act(op.out, r), down.n_rows);
      if (op.down_bias == kNoWeight) continue;
      const size_t at = size_t{expert - op.first_expert} * down.n_rows;
      kernels_.axpy(weight, vector(op.down_bias) + at, act(op.out, r), down.n_rows);
    }
  });
}

}  // namespace realizar::cpu
