#include "sampling/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "realizar/request.h"
#include "sampling/candidates.h"
#include "sampling/chain.h"
#include "sampling/finite.h"
#include "sampling/parameters.h"
#include "sampling/penalties.h"
#include "sampling/philox.h"
#include "sampling/sampler_names.h"
#include "sampling/top_k.h"

namespace realizar {
namespace {

// Selection without top-k: all tokens take part, yet only those that the other filters might keep are sorted.
// weights[i] = e^((logit - largest) / temperature). Returns their sum, in the order of the ids. At least one logit is
// finite.
double weigh(std::span<const float> logits, float temperature, std::span<float> weights) {
  float largest = -INFINITY;
  for (const float logit : logits) largest = logit > largest ? logit : largest;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp((logits[i] - largest) / temperature);
    sum += weights[i];
  }
  return sum;
}

// Tokens below (1 - top_p) / n_vocab hold less than 1 - top_p together, so the nucleus is full before their turn;
// tokens below min_p are excluded in any case. A filter that does not just drop the tail may keep any token.
double least_weight(const SamplingParams& params, double sum, size_t n_vocab) {
  bool drops_tail = true;
  for_each_filter(params, [&](float, const CandidateFilter& filter) { drops_tail = drops_tail && filter.drops_tail; });
  if (!drops_tail) return 0;
  constexpr double kRounding = 0.999;
  const double nucleus = (1 - double{params.top_p}) * sum / static_cast<double>(n_vocab);
  return kRounding * std::max(nucleus, double{params.min_p});
}

// Fills `candidates` with the tokens that may be kept, sorted; p is relative to the whole vocabulary.
void select_from_all(std::span<const float> logits, std::span<const float> weights, double sum,
                     const SamplingParams& params, Candidates& candidates) {
  candidates.clear();
  const double least = least_weight(params, sum, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weights[i] == 0 || weights[i] < least) continue;
    candidates.push_back({TokenId{static_cast<int32_t>(i)}, logits[i], weights[i] / sum});
  }
  std::sort(candidates.begin(), candidates.end(), likelier);
}

// `allowed`: bit t % 64 of word t / 64 for token t.
void apply_mask(std::span<const uint64_t> allowed, std::span<float> logits) {
  for (size_t t = 0; t < logits.size(); ++t) {
    if ((allowed[t / 64] >> (t % 64) & 1) == 0) logits[t] = -std::numeric_limits<float>::infinity();
  }
}

Error wrong_bias(std::string_view expected, double actual) {
  return invalid_argument(fmt::format("logit_bias: expected {}, actual {}", expected, actual), "logit_bias");
}

// The first of equal maxima.
TokenId argmax(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return TokenId{static_cast<int32_t>(best)};
}

// The token at which the running sum of weights passes `target`; the likeliest one if rounding keeps the sum below.
TokenId draw(std::span<const float> weights, double target) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (target < sum) return TokenId{static_cast<int32_t>(i)};
  }
  return argmax(weights);
}

bool filters(const SamplingParams& params) {
  bool any = false;
  for_each_filter(params, [&any](float, const CandidateFilter&) { any = true; });
  return any;
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
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const auto value = visit_parameter(parameter, p, [](auto number) { return static_cast<double>(number); });
    if (!parameter.range.has(value)) return out_of_range(parameter, value);
  }
  if (p.samplers && p.samplers->size() > kMaxSamplers) {
    return invalid_argument(fmt::format("samplers: expected at most {}, actual {}", kMaxSamplers, p.samplers->size()),
                            "samplers");
  }
  for (const auto& [id, bias] : p.logit_bias) {
    if (to_index(id) < 0 || static_cast<uint32_t>(to_index(id)) >= n_vocab) {
      return wrong_bias(fmt::format("token ids below {}", n_vocab), to_index(id));
    }
    if (!(bias < INFINITY)) return wrong_bias("numbers, or -infinity", bias);
  }
  return {};
}

Sampler::Sampler(uint32_t n_vocab, uint32_t n_ctx) : adjusted_(n_vocab), weights_(n_vocab), counts_(n_vocab) {
  matches_.reserve(n_ctx);
  candidates_.reserve(n_vocab);
  top_.reserve(n_vocab);
}

TokenId Sampler::sample(const SamplingParams& params, std::span<const float> logits, std::span<const TokenId> history,
                        std::span<const uint64_t> allowed, SamplerState* state) {
  return sample(is_usual_chain(params), params, logits, history, allowed, state);
}

TokenId Sampler::sample_and_keep(const SamplingParams& params, std::span<const float> logits,
                                 std::span<const TokenId> history, std::span<const uint64_t> allowed,
                                 SamplerState* state) {
  return sample(false, params, logits, history, allowed, state);
}

// The usual path gives the chain's result in less time.
TokenId Sampler::sample(bool is_usual, const SamplingParams& params, std::span<const float> logits,
                        std::span<const TokenId> history, std::span<const uint64_t> allowed, SamplerState* state) {
  if (!is_prediction(logits)) return kNoToken;
  if (!allowed.empty() || !params.logit_bias.empty() || (is_usual && has_penalties(params))) {
    std::copy(logits.begin(), logits.end(), adjusted_.begin());
    for (const auto& [id, bias] : params.logit_bias) adjusted_[static_cast<size_t>(to_index(id))] += bias;
    if (is_usual && has_penalties(params)) apply_penalties(params, history, adjusted_, counts_);
    if (!allowed.empty()) apply_mask(allowed, adjusted_);
    logits = adjusted_;
    if (!is_prediction(logits)) return kNoToken;
  }
  if (!is_usual) {
    SamplerState fresh;
    Chain chain(params, history, {adjusted_, counts_, matches_, candidates_});
    return chain.sample(logits, state == nullptr ? fresh : *state);
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
  for_each_filter(params, [this](float value, const CandidateFilter& filter) { filter.apply(value, candidates_); });
  return draw(candidates_, u).id;
}

float Sampler::drawn_logprob(TokenId id) const {
  const auto drawn = std::ranges::find(candidates_, id, &Candidate::id);
  return drawn == candidates_.end() ? -INFINITY : static_cast<float>(std::log(drawn->p));
}

std::span<const TokenLogprob> Sampler::drawn_from(uint32_t n) {
  top_.clear();
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(n, candidates_.size()));
  std::partial_sort(candidates_.begin(), end, candidates_.end(), likelier);
  for (auto c = candidates_.begin(); c != end && c->p > 0; ++c) {
    top_.push_back({c->id, static_cast<float>(std::log(c->p))});
  }
  return top_;
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
