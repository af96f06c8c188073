#include "sampling/sampler.h"

#include <fmt/format.h>

#include <cmath>

#include "sampling/finite.h"
#include "sampling/logit_bias.h"
#include "sampling/mask.h"
#include "sampling/min_p.h"
#include "sampling/penalties.h"
#include "sampling/philox.h"
#include "sampling/top_k.h"
#include "sampling/top_p.h"
#include "sampling/typical.h"
#include "sampling/whole_vocabulary.h"

namespace realizar {
namespace {

Error out_of_range(const char* name, const char* range, double value) {
  return invalid_argument(fmt::format("{}: expected {}, actual {}", name, range, value), name);
}

bool is_in(float value, float low, float high) {
  return value >= low && value <= high;
}

// The first of the largest.
TokenId argmax(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return TokenId{static_cast<int32_t>(best)};
}

TokenId draw(const Candidates& candidates, double u) {
  double sum = 0;
  for (const Candidate& c : candidates) {
    sum += c.p;
    if (u < sum) return c.id;
  }
  return candidates.front().id;  // rounding left u above the sum
}

// The token at which the running sum of weights passes `target`; the likeliest if rounding keeps it below.
TokenId draw(std::span<const float> weights, double target) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (target < sum) return TokenId{static_cast<int32_t>(i)};
  }
  return argmax(weights);
}

bool filters(const SamplingParams& params) {
  return params.typical_p < 1 || params.top_p < 1 || params.min_p > 0;
}

double log_sum_exp(std::span<const float> logits) {
  float max = logits[0];
  for (const float logit : logits) max = std::max(max, logit);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - max);
  return max + std::log(sum);
}

}  // namespace

Status validate(const SamplingParams& p, uint32_t n_vocab) {
  if (!(p.temperature >= 0 && std::isfinite(p.temperature)))
    return out_of_range("temperature", "0 or more", p.temperature);
  if (p.top_k < 0) return out_of_range("top_k", "0 or more", p.top_k);
  if (!(p.typical_p > 0 && p.typical_p <= 1)) return out_of_range("typical_p", "above 0, at most 1", p.typical_p);
  if (!(p.top_p > 0 && p.top_p <= 1)) return out_of_range("top_p", "above 0, at most 1", p.top_p);
  if (!is_in(p.min_p, 0, 1)) return out_of_range("min_p", "0 to 1", p.min_p);
  if (!(p.repeat_penalty > 0 && std::isfinite(p.repeat_penalty))) {
    return out_of_range("repeat_penalty", "a finite number above 0", p.repeat_penalty);
  }
  if (p.repeat_last_n < -1) return out_of_range("repeat_last_n", "-1 or more", p.repeat_last_n);
  if (!is_in(p.frequency_penalty, -2, 2)) return out_of_range("frequency_penalty", "-2 to 2", p.frequency_penalty);
  if (!is_in(p.presence_penalty, -2, 2)) return out_of_range("presence_penalty", "-2 to 2", p.presence_penalty);
  for (const auto& [id, bias] : p.logit_bias) {
    if (to_index(id) < 0 || static_cast<uint32_t>(to_index(id)) >= n_vocab) {
      return out_of_range("logit_bias", fmt::format("token ids below {}", n_vocab).c_str(), to_index(id));
    }
    if (!(bias < INFINITY)) return out_of_range("logit_bias", "numbers, or -infinity", bias);
  }
  return {};
}

Sampler::Sampler(uint32_t n_vocab) : adjusted_(n_vocab), weights_(n_vocab), counts_(n_vocab) {
  candidates_.reserve(n_vocab);
  top_.reserve(n_vocab);
}

TokenId Sampler::sample(const SamplingParams& params, std::span<const float> logits, std::span<const TokenId> history,
                        std::span<const uint64_t> allowed) {
  if (!is_prediction(logits)) return kNoToken;
  if (!allowed.empty() || !params.logit_bias.empty() || has_penalties(params)) {
    std::copy(logits.begin(), logits.end(), adjusted_.begin());
    apply_logit_bias(params, adjusted_);
    if (has_penalties(params)) apply_penalties(params, history, adjusted_, counts_);
    if (!allowed.empty()) apply_mask(allowed, adjusted_);
    logits = adjusted_;
    if (!is_prediction(logits)) return kNoToken;
  }
  if (params.temperature == 0 || params.top_k == 1) return argmax(logits);
  const double u = uniform(params.seed, history.size());
  if (params.top_k > 0) {
    select_top_k(logits, params.temperature, static_cast<size_t>(params.top_k), candidates_);
  } else {
    const double sum = weigh(logits, params.temperature, weights_);
    if (!filters(params)) return draw(weights_, u * sum);
    select_from_all(logits, weights_, sum, params, candidates_);
  }
  apply_typical(params.typical_p, candidates_);
  apply_top_p(params.top_p, candidates_);
  apply_min_p(params.min_p, candidates_);
  return draw(candidates_, u);
}

float Sampler::logprob(std::span<const float> logits, TokenId id) const {
  return static_cast<float>(logits[static_cast<size_t>(to_index(id))] - log_sum_exp(logits));
}

std::span<const TokenLogprob> Sampler::top_logprobs(std::span<const float> logits, uint32_t n) {
  top_.clear();
  if (n == 0) return top_;
  const double norm = log_sum_exp(logits);
  select_top_k(logits, 1.0f, n, candidates_);
  for (const Candidate& c : candidates_) top_.push_back({c.id, static_cast<float>(c.logit - norm)});
  return top_;
}

}  // namespace realizar
