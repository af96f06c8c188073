// Top-n-sigma (Tang et al. 2024, "Top-nσ: Not All Logits Are You Need", arXiv:2411.07641): tokens whose logits are at
// most n standard deviations below the largest. Mean and deviation are those of the candidates, with their number as
// the divisor.
#pragma once

#include <algorithm>
#include <cmath>

#include "sampling/candidates.h"

namespace realizar {

// Does not set p. There is at least one candidate, and all logits are finite.
inline void apply_top_n_sigma(float n, Candidates& candidates) {
  if (n <= 0.0f) return;
  const auto n_candidates = static_cast<double>(candidates.size());
  double sum = 0, squares = 0;
  for (const Candidate& c : candidates) sum += c.logit;
  const double mean = sum / n_candidates;
  for (const Candidate& c : candidates) squares += (c.logit - mean) * (c.logit - mean);
  const double largest = std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
                           return a.logit < b.logit;
                         })->logit;
  const double least = largest - n * std::sqrt(squares / n_candidates);
  std::erase_if(candidates, [least](const Candidate& c) { return c.logit < least; });
}

}  // namespace realizar
