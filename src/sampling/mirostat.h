// Mirostat (Basu et al. 2021, "Mirostat: a neural text decoding algorithm that directly controls perplexity",
// arXiv:2007.14966) keeps the surprise of tokens, -log2 p, near tau by an upper bound: it begins at 2 tau and falls by
// eta times a token's excess surprise. Version 1 (the paper's algorithm 1) derives the number of tokens below the bound
// from Zipf's exponent, estimated from the likeliest 100 tokens; version 2 (the authors' code) takes the tokens below
// the bound directly.
#pragma once

#include <algorithm>
#include <cmath>

#include "realizar/request.h"
#include "sampling/candidates.h"
#include "sampling/sampler_state.h"

namespace realizar {

// Zipf's exponent of probabilities that fall like rank^-s: the sum of t b over that of t^2, with t = log((i + 1) / i)
// and
// b = log(p_i / p_(i+1)). `candidates`: sorted, with p.
inline double zipf_exponent(const Candidates& candidates) {
  constexpr size_t kRanks = 100;
  double products = 0, squares = 0;
  for (size_t i = 1; i < std::min(kRanks, candidates.size()) && candidates[i].p > 0; ++i) {
    const double t = std::log(static_cast<double>(i + 1) / static_cast<double>(i));
    products += t * std::log(candidates[i - 1].p / candidates[i].p);
    squares += t * t;
  }
  return squares > 0 ? products / squares : INFINITY;
}

// Number of tokens with a surprise below the bound, in version 1: (e * 2^bound / (1 - n_vocab^-e))^(1/s), where e = s -
// 1.
inline size_t mirostat_top_k(const Candidates& candidates, size_t n_vocab, double max_surprise) {
  const double s = zipf_exponent(candidates), e = s - 1;
  const double log_n = std::log(static_cast<double>(n_vocab));
  constexpr double kNearOne = 1e-6;  // near it the quotient is 0 / 0, and its limit is the inverse of the logarithm
  const double scale = std::fabs(e) < kNearOne ? 1 / log_n : e / -std::expm1(-e * log_n);
  const double k = std::isinf(s) ? 1 : std::pow(scale * std::exp2(max_surprise), 1 / s);
  const auto n = static_cast<double>(candidates.size());
  return static_cast<size_t>(std::clamp(k < n ? k : n, 1.0, n));  // n if k is NaN
}

inline double surprise_bound(const SamplingParams& params, const SamplerState& state) {
  return state.max_surprise.value_or(2 * double{params.mirostat_tau});
}

// No token below it is kept; 0 if that is not known before sorting.
inline double least_p(const SamplingParams& params, const SamplerState& state) {
  return params.mirostat == 2 ? std::exp2(-surprise_bound(params, state)) : 0;
}

// Draws with u and updates the bound. `candidates`: sorted, with p.
inline TokenId draw_by_mirostat(const SamplingParams& params, size_t n_vocab, double u, Candidates& candidates,
                                SamplerState& state) {
  const double bound = surprise_bound(params, state);
  if (params.mirostat == 1) {
    keep(candidates, mirostat_top_k(candidates, n_vocab, bound));
  } else {
    const auto is_too_much = [bound](const Candidate& c) { return !(-std::log2(c.p) <= bound); };
    const auto end = std::find_if(candidates.begin(), candidates.end(), is_too_much);
    keep(candidates, static_cast<size_t>(end - candidates.begin()));
  }
  const Candidate& chosen = draw(candidates, u);
  state.max_surprise = bound - params.mirostat_eta * (-std::log2(chosen.p) - params.mirostat_tau);
  return chosen.id;
}

}  // namespace realizar
