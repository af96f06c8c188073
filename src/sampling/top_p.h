// Nucleus sampling (Holtzman et al. 2020): the likeliest tokens that together hold the probability top_p, at least one.
#pragma once

#include "sampling/candidates.h"

namespace realizar {

inline void apply_top_p(float top_p, Candidates& candidates) {
  if (top_p >= 1.0f) return;
  double sum = 0;
  size_t n = 0;
  while (n < candidates.size() && (n == 0 || sum < top_p)) sum += candidates[n++].p;
  keep(candidates, n);
}

}  // namespace realizar
