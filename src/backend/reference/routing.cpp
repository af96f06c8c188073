#include "backend/reference/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "backend/reference/arithmetic.h"

namespace realizar::reference {
namespace {

std::vector<double> scores_of(const RouteOp& op, const float* logits) {
  std::vector<double> scores(logits, logits + op.n_experts);
  if (op.score == RouteScore::kSigmoid) {
    for (double& score : scores) score = sigmoid(score);
    return scores;
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - max);
  for (double& score : scores) score /= sum;
  return scores;
}

// Indices of the n largest values, ties to the first.
std::vector<uint32_t> largest(std::span<const double> values, uint32_t n) {
  std::vector<uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
  places.resize(n);
  return places;
}

// Sort keys of experts: -infinity in groups that are not chosen.
std::vector<double> choice_keys(const Tensors& tensors, const RouteOp& op, const float* logits,
                                const std::vector<double>& scores) {
  if (op.chooses_by_logits()) return {logits, logits + op.n_experts};
  std::vector<double> keys = scores;
  for (uint32_t e = 0; op.bias != kNoWeight && e < op.n_experts; ++e) keys[e] += tensors.vector(op.bias)[e];
  const uint32_t group_size = op.n_experts / op.n_groups;
  std::vector<double> group_keys;
  for (uint32_t g = 0; g < op.n_groups; ++g) {
    const auto members = std::span(keys).subspan(size_t{g} * group_size, group_size);
    double key = 0;
    for (const uint32_t best : largest(members, std::min(op.n_group_best, group_size))) key += members[best];
    group_keys.push_back(key);
  }
  const auto used = largest(group_keys, op.n_used_groups);
  for (uint32_t e = 0; e < op.n_experts; ++e) {
    if (std::ranges::find(used, e / group_size) == used.end()) keys[e] = -INFINITY;
  }
  return keys;
}

// Each choice's softmax among the near logits that were not chosen before it; 0 for other experts.
std::vector<double> sparse_mixer_scores(const RouteOp& op, std::span<const float> logits) {
  const std::vector<uint32_t> order = largest(std::vector<double>(logits.begin(), logits.end()), op.n_experts);
  std::vector<double> scores(op.n_experts);
  for (uint32_t k = 0; k < op.n_used; ++k) {
    const double max = logits[order[k]];
    double sum = 0;
    for (const uint32_t e : std::span(order).subspan(k)) {
      const double x = logits[e];
      if (max - x <= op.near_share * std::max(std::fabs(x), max)) sum += std::exp(x - max);
    }
    scores[order[k]] = 1 / sum;
  }
  return scores;
}

}  // namespace

void route_row(Tensors& tensors, const RouteOp& op, uint32_t r) {
  const float* logits = tensors.act(op.logits).row(r);
  const std::vector<double> scores =
      op.score == RouteScore::kSparseMixer ? sparse_mixer_scores(op, {logits, op.n_experts}) : scores_of(op, logits);
  const auto chosen = largest(choice_keys(tensors, op, logits, scores), op.n_used);
  double sum = 0;
  for (const uint32_t e : chosen) sum += scores[e];
  const double total = op.renormalize ? std::max<double>(sum, kLeastScoreSum) : 1;
  for (uint32_t k = 0; k < op.n_used; ++k) {
    tensors.act(op.ids).row(r)[k] = static_cast<float>(chosen[k]);
    const double own_scale = op.scales == kNoWeight ? 1 : tensors.vector(op.scales)[chosen[k]];
    tensors.act(op.weights).row(r)[k] = static_cast<float>(scores[chosen[k]] / total * op.scale * own_scale);
  }
}

}  // namespace realizar::reference
