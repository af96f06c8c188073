// Selection without top-k: all tokens take part, yet only those that the other filters might keep are sorted.
#pragma once

#include <algorithm>
#include <span>

#include "realizar/request.h"
#include "sampling/candidates.h"
#include "sampling/parameters.h"

namespace realizar {

// weights[i] = e^((logit - largest) / temperature). Returns their sum, in the order of the ids. At least one logit is
// finite.
inline double weigh(std::span<const float> logits, float temperature, std::span<float> weights) {
  float largest = -INFINITY;
  for (const float logit : logits) largest = logit > largest ? logit : largest;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp((logits[i] - largest) / temperature);
    sum += weights[i];
  }
  return sum;
}

// Tokens below (1 - top_p) / n_vocab hold less than 1 - top_p together, so the nucleus is full before their turn;
// tokens below min_p are excluded in any case. A filter that does not just drop the tail may keep any token.
inline double least_weight(const SamplingParams& params, double sum, size_t n_vocab) {
  bool drops_tail = true;
  for_each_filter(params, [&](float, const CandidateFilter& filter) { drops_tail = drops_tail && filter.drops_tail; });
  if (!drops_tail) return 0;
  constexpr double kRounding = 0.999;
  const double nucleus = (1 - double{params.top_p}) * sum / static_cast<double>(n_vocab);
  return kRounding * std::max(nucleus, double{params.min_p});
}

// Fills `candidates` with the tokens that may be kept, sorted; p is relative to the whole vocabulary.
inline void select_from_all(std::span<const float> logits, std::span<const float> weights, double sum,
                            const SamplingParams& params, Candidates& candidates) {
  candidates.clear();
  const double least = least_weight(params, sum, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weights[i] == 0 || weights[i] < least) continue;
    candidates.push_back({TokenId{static_cast<int32_t>(i)}, logits[i], weights[i] / sum});
  }
  std::sort(candidates.begin(), candidates.end(), likelier);
}

}  // namespace realizar
