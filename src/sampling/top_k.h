// The k likeliest tokens (Fan et al. 2018), sorted. One pass with a heap of k: no full sort of a large vocabulary.
#pragma once

#include <algorithm>
#include <span>

#include "sampling/candidates.h"

namespace realizar {

// Fills `candidates`, k >= 1. The logits contain no NaN.
inline void select_top_k(std::span<const float> logits, float temperature, size_t k, Candidates& candidates) {
  candidates.clear();
  const size_t n_kept = std::min(k, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate c{TokenId{static_cast<int32_t>(i)}, logits[i], 0};
    if (candidates.size() < n_kept) {
      candidates.push_back(c);
      if (candidates.size() == n_kept) std::make_heap(candidates.begin(), candidates.end(), likelier);
    } else if (likelier(c, candidates.front())) {
      std::pop_heap(candidates.begin(), candidates.end(), likelier);
      candidates.back() = c;
      std::push_heap(candidates.begin(), candidates.end(), likelier);
    }
  }
  std::sort(candidates.begin(), candidates.end(), likelier);
  for (Candidate& c : candidates) c.p = std::exp((double{c.logit} - candidates.front().logit) / temperature);
  normalize(candidates);
}

}  // namespace realizar
