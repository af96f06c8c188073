// Guesses what comes next from the text so far, to be verified in one step (speculative decoding: Leviathan et al.
// 2023), and how many guesses, these or a draft model's, are worth their rows. A wrong guess costs time, never a token:
// the verified tokens are those of plain decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "realizar/types.h"

namespace realizar::engine {

inline constexpr uint32_t kMaxGuesses =
    7;  // tokens at a time where their number is chosen: eight rows, with the newest

// What may come next in a text. Prompt lookup (Saxena 2023): what followed the latest earlier occurrence of the text's
// longest ending that occurs there, of two tokens or more.
struct Guess {
  uint32_t n_matched = 0;  // tokens of that ending
  std::vector<TokenId> tokens;

  // Fills `tokens`, which has the capacity, with max_tokens; with none where nothing repeats.
  void look_up(std::span<const TokenId> text, uint32_t max_tokens);
  void clear() { tokens.clear(); }
};

// Of a guess's first token to be right, and of each later one where those before it are.
struct GuessChances {
  double first = 0, later = 0;
};

// How often a text's guesses were right, which also those are asked that no row was spent on.
class HitRates {
 public:
  GuessChances of(const Guess& guess) const;
  // `chosen` is what came: a token for each guess that was right, and one more.
  void learn(const Guess& guess, std::span<const TokenId> chosen);

 private:
  // By the length of the ending: 2, 3, 4 to 7, 8 tokens. First values: what is usual in text and code.
  static constexpr size_t kClasses = 4;
  static size_t class_of(const Guess& guess);

  std::array<double, kClasses> first_{0.15, 0.25, 0.4, 0.6}, later_{0.4, 0.5, 0.7, 0.9};
};

// How often a draft model's guesses were right, and the time that they take. What was learned is forgotten slowly while
// none are made, so that they are tried again: texts change.
class DraftRecord {
 public:
  GuessChances chances() const { return {hit_rate_, hit_rate_}; }
  // For n_tokens guesses of each sequence; 0 until one was made.
  double ms(uint32_t n_tokens) const { return token_ms_ * n_tokens; }

  // n_right of n_guessed tokens came, the first ones.
  void learn_hits(uint32_t n_guessed, uint32_t n_right);
  void learn_time(uint32_t n_tokens, double ms);
  // A step had none.
  void forget_some();

 private:
  double hit_rate_ = kFirstHitRate;
  double token_ms_ = 0;

  static constexpr double kFirstHitRate = 0.6;
};

// A sequence's guess that may be made or verified in the next step.
struct GuessOffer {
  GuessChances chances;
  uint32_t n_most;         // tokens
  uint32_t n_granted = 0;  // result

  uint32_t n_tried = 0;  // while grant_guesses looks for more
  double chance = 1;     // that all of these are right
};

// What a step of n_rows decode rows takes with guesses of n_tokens tokens at most; 0: that is not known yet.
using StepTime = std::function<double(uint32_t n_rows, uint32_t n_tokens)>;

// Grants guesses the rows with which a step gives the most tokens in its time: n_rows rows are one for each decoding
// sequence, n_spare more may be had. Where no time is known, no guess is granted.
void grant_guesses(std::span<GuessOffer> offers, uint32_t n_rows, uint32_t n_spare, const StepTime& step_ms);

}  // namespace realizar::engine
