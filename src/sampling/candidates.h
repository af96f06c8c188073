// The tokens still in the race, with their logits and, once computed, probabilities.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "realizar/types.h"

namespace realizar {

struct Candidate {
  TokenId id;
  float logit;
  double p;
};

using Candidates = std::vector<Candidate>;

// The likelier candidate comes first, and of equal ones the lower id, so that every order is total.
inline bool likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Scales p to a sum of 1, added up in the order of the candidates.
inline void normalize(Candidates& candidates) {
  double sum = 0;
  for (const Candidate& c : candidates) sum += c.p;
  for (Candidate& c : candidates) c.p /= sum;
}

// Keeps the first n, but at least one, and normalizes them.
inline void keep(Candidates& candidates, size_t n) {
  if (n < candidates.size()) {
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(n < 1 ? 1 : n), candidates.end());
  }
  normalize(candidates);
}

// The candidate at which the running sum of p passes u; the first if rounding keeps the sum below.
inline const Candidate& draw(const Candidates& candidates, double u) {
  double sum = 0;
  for (const Candidate& c : candidates) {
    sum += c.p;
    if (u < sum) return c;
  }
  return candidates.front();
}

}  // namespace realizar
