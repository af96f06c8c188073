#include "backend/cpu/runners/route_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace realizar::cpu {
namespace {

// The sort keys of a row's experts, and their weights before scaling.
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
  // The softmax score is not yet divided by the sum over all experts.
  double score(uint32_t expert) const {
    return op_.score == RouteScore::kSoftmax ? std::exp(logits_[expert] - max_)
                                             : 1 / (1 + std::exp(-double{logits_[expert]}));
  }
  // SparseMixer's score of the last chosen expert.
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
  // The divisor of the chosen experts' scores.
  double total(double chosen_sum) const {
    if (!op_.renormalize) return sum_;
    return op_.score == RouteScore::kSoftmax ? chosen_sum : std::max<double>(chosen_sum, kLeastScoreSum);
  }

 private:
  // Excludes all groups except the n_used_groups best.
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
  std::array<double, kMaxExperts> keys_;  // if the logits do not choose
};

}  // namespace

void RouteRunner::run(const RouteOp& op, const Hints&, uint32_t member) {
  step_.share(step_.batch().n_rows(), member, [&](uint32_t r) {
    const Router router(op, step_.act(op.logits, r), step_.vector(op.bias));
    float* ids = step_.act(op.ids, r);
    float* weights = step_.act(op.weights, r);
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
    const float* scales = step_.vector(op.scales);
    for (uint32_t k = 0; k < op.n_used; ++k) {
      const auto id = static_cast<uint32_t>(ids[k]);
      const double own_scale = scales == nullptr ? 1 : scales[id];
      const double own = op.score == RouteScore::kSparseMixer ? router.near_score({ids, k + 1}) : router.score(id);
      weights[k] = static_cast<float>(own / total * op.scale * own_scale);
    }
  });
}

}  // namespace realizar::cpu
