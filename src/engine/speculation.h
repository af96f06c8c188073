// Speculative tokens from the text so far, to be verified in one step (speculative decoding: Leviathan et al. 2023),
// and how many of them, or of a draft model's, are worth their rows. A wrong one costs time, never a token: the
// verified tokens are those of plain decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "realizar/types.h"

namespace realizar::engine {

// Tokens at a time if their number is chosen automatically: eight rows, with the newest token.
inline constexpr uint32_t kMaxSpeculated = 7;

// A likely continuation of a text. Prompt lookup (Saxena 2023): the tokens after the latest earlier occurrence of the
// longest ending of the text that occurs before, of at least two tokens.
struct PromptLookup {
  uint32_t n_matched = 0;  // length of that ending
  std::vector<TokenId> tokens;

  // Fills `tokens`, which has the capacity, with max_tokens, or with none if nothing repeats.
  void find(std::span<const TokenId> text, uint32_t max_tokens);
  void clear() { tokens.clear(); }
};

// The probability that the first speculative token is right, and that of each later one if those before it are.
struct DraftChances {
  double first = 0, later = 0;
};

// How often a text's speculative tokens were right; also asked when no row was spent on them.
class HitRates {
 public:
  DraftChances of(const PromptLookup& lookup) const;
  // `chosen`: the actual tokens, one for each right speculative token, and one more.
  void learn(const PromptLookup& lookup, std::span<const TokenId> chosen);

 private:
  // By the length of the ending: 2, 3, 4 to 7, 8 tokens. The initial values are typical of text and code.
  static constexpr size_t kClasses = 4;
  static size_t class_of(const PromptLookup& lookup);

  std::array<double, kClasses> first_{0.15, 0.25, 0.4, 0.6}, later_{0.4, 0.5, 0.7, 0.9};
};

// How often a draft model's tokens were right, and how long they take. While none are made the record decays slowly, so
// that they are tried again: texts change.
class DraftRecord {
 public:
  DraftChances chances() const { return {hit_rate_, hit_rate_}; }
  // For n_tokens speculative tokens of each sequence; 0 until measured.
  double ms(uint32_t n_tokens) const { return token_ms_ * n_tokens; }

  // The first n_right of n_drafted tokens were right.
  void learn_hits(uint32_t n_drafted, uint32_t n_right);
  void learn_time(uint32_t n_tokens, double ms);
  // For a step without speculative tokens.
  void forget_some();

 private:
  double hit_rate_ = kFirstHitRate;
  double token_ms_ = 0;

  static constexpr double kFirstHitRate = 0.6;
};

// A sequence's speculative tokens that may be made or verified in the next step.
struct DraftOffer {
  DraftChances chances;
  uint32_t n_most;         // tokens
  uint32_t n_granted = 0;  // result

  uint32_t n_tried = 0;  // while grant_drafts searches
  double chance = 1;     // that all of these are right
};

// The time of a step with n_rows decode rows and at most n_tokens speculative tokens for each sequence; 0: not known
// yet.
using StepTime = std::function<double(uint32_t n_rows, uint32_t n_tokens)>;

// Grants rows to speculative tokens such that the step gives the most tokens for its time: n_rows rows are one for each
// decoding sequence, n_spare more are available. If the time is unknown, none is granted.
void grant_drafts(std::span<DraftOffer> offers, uint32_t n_rows, uint32_t n_spare, const StepTime& step_ms);

}  // namespace realizar::engine
