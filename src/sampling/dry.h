// DRY, "don't repeat yourself" (p-e-w 2024, text-generation-webui's pull request 5677; llama.cpp's 9702): a token that
// would extend a repetition has its logit lowered by multiplier * base^(n - allowed_length), where n is the length of
// the longest sequence of tokens that ends the text and that the token has followed before. Sequences shorter than
// allowed_length cost nothing. No repetition reaches beyond the last breaker, and a token that is a breaker is never
// penalized.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "realizar/request.h"

namespace realizar {

// Tokens that end what DRY considers a repetition: those that contain a breaker's text, and those that begin a breaker
// if the tokens of the rest follow.
struct SequenceBreakers {
  // A bit for each token of the tokenizer's vocabulary; tokens beyond it are not breakers.
  std::vector<bool> whole;                             // the token contains a breaker
  std::vector<bool> begins;                            // the token has rests
  std::multimap<TokenId, std::vector<TokenId>> rests;  // tokens that complete a breaker; none is empty
};

inline bool has_token(const std::vector<bool>& tokens, TokenId id) {
  const auto at = static_cast<size_t>(to_index(id));
  return at < tokens.size() && tokens[at];
}

inline bool uses_dry(const SamplingParams& params) {
  return params.dry_multiplier > 0.0f && params.dry_penalty_last_n != 0;
}

// Whether a breaker begins `i` tokens before the end of `tokens`. `length`: that of the longest such breaker.
inline bool breaks_at(const SequenceBreakers& breakers, std::span<const TokenId> tokens, size_t i, size_t& length) {
  const TokenId token = tokens[tokens.size() - 1 - i];
  length = has_token(breakers.whole, token) ? 1 : 0;
  if (!has_token(breakers.begins, token)) return length > 0;
  for (auto [rest, end] = breakers.rests.equal_range(token); rest != end; ++rest) {
    const std::vector<TokenId>& wanted = rest->second;
    if (wanted.size() > i) continue;
    const auto follows = tokens.last(i).first(wanted.size());
    if (std::ranges::equal(wanted, follows)) length = std::max(length, wanted.size() + 1);
  }
  return length > 0;
}

// Number of tokens after the last breaker; all if there is none.
inline size_t n_after_breaker(const SequenceBreakers* breakers, std::span<const TokenId> tokens) {
  size_t length = 0;
  for (size_t i = 0; breakers != nullptr && i < tokens.size(); ++i) {
    if (breaks_at(*breakers, tokens, i, length)) return i + 1 - length;
  }
  return tokens.size();
}

// matches[i] = how many of the last tokens of `tokens`, read backwards, equal those read backwards from the token i
// positions before the end (the Z-function of the reversed text). Linear time, since the part that an earlier match
// covers is known.
inline void find_suffix_matches(std::span<const TokenId> tokens, std::vector<uint32_t>& matches) {
  const size_t n = tokens.size();
  const auto backwards = [tokens, n](size_t i) { return tokens[n - 1 - i]; };
  matches.resize(n);
  size_t known_from = 0, known_end = 0;  // the match that reaches farthest
  for (size_t i = 1; i < n; ++i) {
    size_t length = i < known_end ? std::min<size_t>(known_end - i, matches[i - known_from]) : 0;
    while (i + length < n && backwards(length) == backwards(i + length)) ++length;
    matches[i] = static_cast<uint32_t>(length);
    if (i + length > known_end) {
      known_from = i;
      known_end = i + length;
    }
  }
}

// The penalty for a repetition of n tokens, finite for any parameters.
inline float dry_penalty(const SamplingParams& params, size_t n) {
  const double power = static_cast<double>(n) - params.dry_allowed_length;
  return static_cast<float>(
      std::min(params.dry_multiplier * std::pow(double{params.dry_base}, power), double{FLT_MAX} / 4));
}

// `logits`: [n_vocab]. `counts`: [n_vocab], all zero before and after. `matches`: scratch of the length of `history`.
inline void apply_dry(const SamplingParams& params, const SequenceBreakers* breakers, std::span<const TokenId> history,
                      std::span<float> logits, std::span<uint32_t> counts, std::vector<uint32_t>& matches) {
  if (!uses_dry(params)) return;
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  const size_t n_seen = params.dry_penalty_last_n < 0
                            ? history.size()
                            : std::min(history.size(), static_cast<size_t>(params.dry_penalty_last_n));
  const auto seen = history.last(n_seen);
  const size_t longest = n_after_breaker(breakers, seen);
  if (n_seen <= allowed || longest < allowed) return;
  find_suffix_matches(seen, matches);
  const auto after = [seen](size_t i) { return seen[seen.size() - i]; };
  const auto count_of = [counts](TokenId id) -> uint32_t& { return counts[static_cast<size_t>(to_index(id))]; };
  for (size_t i = 1; i < n_seen; ++i) {
    const auto length = static_cast<uint32_t>(std::min<size_t>(matches[i], longest));
    if (length >= allowed) count_of(after(i)) = std::max(count_of(after(i)), length + 1);
  }
  for (size_t i = 1; i < n_seen; ++i) {
    const uint32_t count = std::exchange(count_of(after(i)), 0);
    const bool is_breaker = breakers != nullptr && has_token(breakers->whole, after(i));
    if (count > 0 && !is_breaker) logits[static_cast<size_t>(to_index(after(i)))] -= dry_penalty(params, count - 1);
  }
}

}  // namespace realizar
