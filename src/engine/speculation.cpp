#include "engine/speculation.h"

#include <algorithm>

namespace realizar::engine {
namespace {

constexpr size_t kShortest = 2, kLongest = 8;  // length in tokens of the ending to look up
constexpr size_t kWindow = 8192;               // tokens of the text that are searched, which bounds the cost for long
                                               // texts
constexpr double kNewestHit = 1.0 / 16;        // weight of one hit or miss
constexpr double kLeastSpeedup = 1.05;         // minimum speed-up of a step by speculation: measured times are noisy

// For a draft model: weight of one measurement, outlier limit, and decay per step. Speculation that does not pay off is
// retried once in several hundred steps, as a retry may have to read a prompt.
constexpr double kNewestTime = 0.2, kMaxTimeFactor = 2, kForgottenShare = 1.0 / 8192;

// Length of the common ending of the text's first `end` tokens and the whole text.
size_t n_alike(std::span<const TokenId> text, size_t end) {
  size_t n = 0;
  while (n < kLongest && n < end && text[end - 1 - n] == text[text.size() - 1 - n]) ++n;
  return n;
}

double next_chance(const DraftOffer& offer) {
  if (offer.n_tried == offer.n_most) return 0;
  return offer.chance * (offer.n_tried == 0 ? offer.chances.first : offer.chances.later);
}

}  // namespace

void PromptLookup::find(std::span<const TokenId> text, uint32_t max_tokens) {
  tokens.clear();
  n_matched = 0;
  if (max_tokens == 0) return;
  size_t next = 0;
  const size_t first = text.size() > kWindow ? text.size() - kWindow : 0;
  for (size_t end = text.size(); end-- > first + 1 && n_matched < kLongest;) {
    const size_t n = n_alike(text, end);
    if (n < kShortest || n <= n_matched) continue;
    n_matched = static_cast<uint32_t>(n);
    next = end;
  }
  if (n_matched == 0) return;
  // Beyond the text's end the repetition continues with the speculative tokens.
  for (size_t i = next; tokens.size() < max_tokens; ++i) {
    tokens.push_back(i < text.size() ? text[i] : tokens[i - text.size()]);
  }
}

size_t HitRates::class_of(const PromptLookup& lookup) {
  return lookup.n_matched < 4 ? lookup.n_matched - kShortest : lookup.n_matched < kLongest ? 2 : 3;
}

DraftChances HitRates::of(const PromptLookup& lookup) const {
  return {first_[class_of(lookup)], later_[class_of(lookup)]};
}

void HitRates::learn(const PromptLookup& lookup, std::span<const TokenId> chosen) {
  for (size_t i = 0; i < std::min(lookup.tokens.size(), chosen.size()); ++i) {
    double& rate = (i == 0 ? first_ : later_)[class_of(lookup)];
    const bool is_hit = lookup.tokens[i] == chosen[i];
    rate += ((is_hit ? 1 : 0) - rate) * kNewestHit;
    if (!is_hit) return;
  }
}

void DraftRecord::learn_hits(uint32_t n_drafted, uint32_t n_right) {
  for (uint32_t i = 0; i < n_right; ++i) hit_rate_ += (1 - hit_rate_) * kNewestHit;
  if (n_right < n_drafted) hit_rate_ -= hit_rate_ * kNewestHit;
}

void DraftRecord::learn_time(uint32_t n_tokens, double ms) {
  const double seen_ms = ms / n_tokens;
  if (token_ms_ == 0) token_ms_ = seen_ms;
  token_ms_ += (std::min(seen_ms, kMaxTimeFactor * token_ms_) - token_ms_) * kNewestTime;
}

void DraftRecord::forget_some() {
  hit_rate_ += (kFirstHitRate - hit_rate_) * kForgottenShare;
  token_ms_ -= token_ms_ * kForgottenShare;
}

// Rows go to the likeliest tokens first. Several more rows may pay off where a single one does not: kernels compute
// rows in groups.
void grant_drafts(std::span<DraftOffer> offers, uint32_t n_rows, uint32_t n_spare, const StepTime& step_ms) {
  const double plain_ms = step_ms(n_rows, 0);
  if (offers.empty() || plain_ms <= 0) return;
  double n_expected = n_rows, best = kLeastSpeedup * n_expected / plain_ms;
  uint32_t n_deepest = 0;
  for (uint32_t n_more = 1; n_more <= n_spare; ++n_more) {
    DraftOffer& next = *std::ranges::max_element(offers, {}, next_chance);
    if (next_chance(next) <= 0) return;
    next.chance = next_chance(next);
    n_deepest = std::max(n_deepest, ++next.n_tried);
    n_expected += next.chance;
    const double tokens_per_ms = n_expected / step_ms(n_rows + n_more, n_deepest);
    if (tokens_per_ms <= best) continue;
    best = tokens_per_ms;
    for (DraftOffer& offer : offers) offer.n_granted = offer.n_tried;
  }
}

}  // namespace realizar::engine
