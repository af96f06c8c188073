// Tokens that end what DRY considers a repetition: those that contain a breaker's text, and those that begin a breaker
// if the tokens of the rest follow.
#pragma once

#include <map>
#include <vector>

#include "realizar/request.h"

namespace realizar {

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

}  // namespace realizar
