// Guesses what comes next from the text so far, to be verified in one step (speculative decoding: Leviathan et al.
// 2023), and how many guesses are worth their rows. A wrong guess costs time, never a token: the verified tokens are
// those of plain decoding.
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

// How often a text's guesses were right, which also those are asked that no row was spent on.
class HitRates {
 public:
  // Of the guess's token `idx` where those before it are right.
  double of(const Guess& guess, size_t idx) const;
  // `chosen` is what came: a token for each guess that was right, and one more.
  void learn(const Guess& guess, std::span<const TokenId> chosen);

 private:
  // By the length of the ending: 2, 3, 4 to 7, 8 tokens. First values: what is usual in text and code.
  static constexpr size_t kClasses = 4;
  static size_t class_of(const Guess& guess);

  std::array<double, kClasses> first_{0.15, 0.25, 0.4, 0.6}, later_{0.4, 0.5, 0.7, 0.9};
};

// A sequence's guess that may be verified in the next step.
struct GuessOffer {
  const Guess* guess;
  const HitRates* rates;
  uint32_t n_most;         // of its tokens
  uint32_t n_granted = 0;  // result

  uint32_t n_tried = 0;  // while grant_guesses looks for more
  double chance = 1;     // that all of these are right
};

// Grants guesses the rows with which a step gives the most tokens in its time: n_rows rows are one for each decoding
// sequence, n_spare more may be had. `step_ms` gives what a step of so many rows takes; 0: that is not known yet, and
// no guess is granted.
void grant_guesses(std::span<GuessOffer> offers, uint32_t n_rows, uint32_t n_spare,
                   const std::function<double(uint32_t n_rows)>& step_ms);

}  // namespace realizar::engine
