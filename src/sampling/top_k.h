// The k likeliest tokens (Fan et al. 2018), sorted. One pass with a heap of k: no full sort of a large vocabulary.
#pragma once

#include <algorithm>
#include <span>

#include "sampling/candidates.h"

namespace realizar {

// Fills `candidates` from all logits divided by the temperature; k 0: all of them.
inline void select_top_k(std::span<const float> logits, float temperature, size_t k, Candidates& candidates) {
  candidates.clear();
  const size_t n_kept = k == 0 ? logits.size() : std::min(k, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate c{TokenId{static_cast<int32_t>(i)}, logits[i] / temperature, 0};
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
}

}  // namespace realizar
