// Min-p sampling (Nguyen et al. 2024): tokens at least min_p times as likely as the likeliest.
#pragma once

#include "sampling/candidates.h"

namespace realizar {

inline void apply_min_p(float min_p, Candidates& candidates) {
  if (min_p <= 0.0f) return;
  size_t n = 0;
  while (n < candidates.size() && candidates[n].p >= min_p * candidates.front().p) ++n;
  keep(candidates, n);
}

}  // namespace realizar
