// Locally typical sampling (Meister et al. 2022): tokens whose surprise is nearest to the entropy, until together they
// hold the probability typical_p.
#pragma once

#include <algorithm>
#include <cmath>

#include "sampling/candidates.h"

namespace realizar {

inline void apply_typical(float typical_p, Candidates& candidates) {
  if (typical_p >= 1.0f) return;
  double entropy = 0;
  for (const Candidate& c : candidates) entropy -= c.p > 0 ? c.p * std::log(c.p) : 0;
  const auto distance = [entropy](const Candidate& c) {
    return c.p > 0 ? std::fabs(-std::log(c.p) - entropy) : INFINITY;
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    const double da = distance(a), db = distance(b);
    return da != db ? da < db : likelier(a, b);
  });
  double sum = 0;
  size_t n = 0;
  while (n < candidates.size() && (n == 0 || sum < typical_p)) sum += candidates[n++].p;
  keep(candidates, n);
  std::sort(candidates.begin(), candidates.end(), likelier);
}

}  // namespace realizar
