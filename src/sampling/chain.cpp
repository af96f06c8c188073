#include "sampling/chain.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "sampling/dry.h"
#include "sampling/dynamic_temperature.h"
#include "sampling/min_p.h"
#include "sampling/mirostat.h"
#include "sampling/penalties.h"
#include "sampling/philox.h"
#include "sampling/top_n_sigma.h"
#include "sampling/top_p.h"
#include "sampling/typical.h"
#include "sampling/xtc.h"

namespace realizar {
namespace {

// Whether the sampler still applies with mirostat.
bool comes_before_mirostat(SamplerKind kind) {
  return kind == SamplerKind::kPenalties || kind == SamplerKind::kDry || kind == SamplerKind::kTemperature;
}

}  // namespace

bool is_usual_chain(const SamplingParams& params) {
  return !params.samplers && params.mirostat == 0 && params.top_n_sigma <= 0.0f && params.dynatemp_range <= 0.0f &&
         !uses_dry(params) && !uses_xtc(params);
}

std::span<const SamplerKind> order_of(const SamplingParams& params) {
  static constexpr SamplerKind kUsualOrder[] = {SamplerKind::kPenalties,   SamplerKind::kDry,  SamplerKind::kTopNSigma,
                                                SamplerKind::kTemperature, SamplerKind::kTopK, SamplerKind::kTypical,
                                                SamplerKind::kTopP,        SamplerKind::kMinP, SamplerKind::kXtc};
  return params.samplers ? std::span<const SamplerKind>(*params.samplers) : kUsualOrder;
}

TokenId Chain::sample(std::span<const float> logits, SamplerState& state) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -INFINITY) candidates_.push_back({TokenId{static_cast<int32_t>(i)}, logits[i], 0});
  }
  const SequenceBreakers* breakers = params_.dry_breakers ? params_.dry_breakers.get() : state.breakers.get();
  for (const SamplerKind kind : order_of(params_)) {
    if (params_.mirostat == 0 || comes_before_mirostat(kind)) apply(kind, breakers);
    if (candidates_.empty()) return kNoToken;
  }
  const double u = uniform(params_.seed, history_.size());
  if (params_.mirostat > 0) {
    sort(std::min(least_p(params_, state), largest_p()));
    return draw_by_mirostat(params_, logits.size(), u, candidates_, state);
  }
  is_by_id_ ? weigh() : sort(0);
  return draw(candidates_, u).id;
}

void Chain::apply(SamplerKind kind, const SequenceBreakers* breakers) {
  switch (kind) {
    case SamplerKind::kPenalties:
      if (!has_penalties(params_)) return;
      return change_logits([&](auto logits) { apply_penalties(params_, history_, logits, scratch_.counts); });
    case SamplerKind::kDry:
      if (!uses_dry(params_)) return;
      return change_logits(
          [&](auto logits) { apply_dry(params_, breakers, history_, logits, scratch_.counts, scratch_.matches); });
    case SamplerKind::kTopNSigma:
      has_p_ = false;
      return apply_top_n_sigma(params_.top_n_sigma, candidates_);
    case SamplerKind::kTemperature:
      return take_temperature();
    case SamplerKind::kTopK:
      return keep_top_k();
    case SamplerKind::kTypical:
      return filter(params_.typical_p < 1, 0, [&] { apply_typical(params_.typical_p, candidates_); });
    case SamplerKind::kTopP:
      // Tokens below (1 - top_p) / n hold less than 1 - top_p together, so the nucleus is full before their turn.
      return filter(params_.top_p < 1, (1 - double{params_.top_p}) / static_cast<double>(candidates_.size()),
                    [&] { apply_top_p(params_.top_p, candidates_); });
    case SamplerKind::kMinP:
      return filter(params_.min_p > 0, params_.min_p > 0 ? params_.min_p * largest_p() : 0,
                    [&] { apply_min_p(params_.min_p, candidates_); });
    case SamplerKind::kXtc:
      return filter(uses_xtc(params_), 0, [&] { apply_xtc(params_, history_.size(), candidates_); });
  }
}

// Samplers that need sorted candidates with probabilities, and keep them sorted. `least`: no candidate below it stays
// in any case.
template <class Keep>
void Chain::filter(bool is_on, double least, const Keep& keep) {
  if (!is_on) return;
  sort(least);
  keep();
}

// Passes the logits to `change`, indexed by id. No candidate is left if a logit has become NaN or +infinity.
template <class Change>
void Chain::change_logits(const Change& change) {
  constexpr double kMost = FLT_MAX / 4;
  const auto at = [this](const Candidate& c) -> float& { return scratch_.logits[static_cast<size_t>(to_index(c.id))]; };
  for (const Candidate& c : candidates_) at(c) = static_cast<float>(std::clamp(c.logit / temperature_, -kMost, kMost));
  change(scratch_.logits);
  for (Candidate& c : candidates_) c.logit = at(c);
  if (!std::ranges::all_of(candidates_, [](const Candidate& c) { return c.logit < INFINITY; })) candidates_.clear();
  std::erase_if(candidates_, [](const Candidate& c) { return c.logit == -INFINITY; });
  temperature_ = 1;
  is_sorted_ = has_p_ = false;
}

void Chain::keep_top_k() {
  const auto k = static_cast<size_t>(params_.top_k);
  if (k == 0) return;
  is_by_id_ = false;
  if (k >= candidates_.size()) return;
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(k);
  if (!is_sorted_) std::nth_element(candidates_.begin(), end, candidates_.end(), likelier);
  candidates_.erase(end, candidates_.end());
  has_p_ = false;
}

void Chain::take_temperature() {
  if (params_.dynatemp_range > 0.0f) weigh();
  const double temperature = dynamic_temperature(params_, candidates_);
  has_p_ = false;
  if (temperature > 0) {
    temperature_ *= temperature;
    return;
  }
  candidates_.front() = *std::min_element(candidates_.begin(), candidates_.end(), likelier);
  candidates_.erase(candidates_.begin() + 1, candidates_.end());
}

// Drops candidates below `least`, which take longest to sort and have no effect afterwards; rounding does not decide
// about any.
void Chain::sort(double least) {
  constexpr double kRounding = 0.999;
  weigh();
  if (is_sorted_) return;
  if (least > 0) std::erase_if(candidates_, [least](const Candidate& c) { return c.p < kRounding * least; });
  std::sort(candidates_.begin(), candidates_.end(), likelier);
  is_sorted_ = true;
  is_by_id_ = false;
}

double Chain::largest_p() {
  weigh();
  return std::min_element(candidates_.begin(), candidates_.end(), likelier)->p;
}

void Chain::weigh() {
  if (has_p_) return;
  const double largest = std::min_element(candidates_.begin(), candidates_.end(), likelier)->logit;
  for (Candidate& c : candidates_) c.p = std::exp((c.logit - largest) / temperature_);
  normalize(candidates_);
  has_p_ = true;
}

}  // namespace realizar
