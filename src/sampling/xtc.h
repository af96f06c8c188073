// XTC, "exclude top choices" (p-e-w 2024, text-generation-webui's pull request 6335): with the probability
// xtc_probability, drops all tokens that are at least as likely as xtc_threshold, except the least likely of them.
#pragma once

#include "realizar/request.h"
#include "sampling/candidates.h"
#include "sampling/philox.h"

namespace realizar {

// At most one token is likelier than a half, so a larger threshold never excludes any.
inline bool uses_xtc(const SamplingParams& params) {
  return params.xtc_probability > 0.0f && params.xtc_threshold <= 0.5f;
}

// `candidates`: sorted, with p. `position`: that of the chosen token.
inline void apply_xtc(const SamplingParams& params, uint64_t position, Candidates& candidates) {
  if (!uses_xtc(params) || uniform(params.seed, position, DrawFor::kXtc) >= params.xtc_probability) return;
  size_t n_above = 0;
  while (n_above < candidates.size() && candidates[n_above].p >= params.xtc_threshold) ++n_above;
  if (n_above < 2) return;
  candidates.erase(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(n_above - 1));
  normalize(candidates);
}

}  // namespace realizar
