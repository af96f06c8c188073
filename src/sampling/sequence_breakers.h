// Tokens that end what DRY takes for a repetition: those that hold a breaker's text, and those that begin one where
// the tokens of its rest follow.
#pragma once

#include <map>
#include <vector>

#include "realizar/request.h"

namespace realizar {

struct SequenceBreakers {
  // A bit for each token of the tokenizer's vocabulary; a token beyond it is no breaker.
  std::vector<bool> whole;                             // the token holds a breaker
  std::vector<bool> begins;                            // it has rests
  std::multimap<TokenId, std::vector<TokenId>> rests;  // of tokens that begin one; none empty
};

inline bool has_token(const std::vector<bool>& tokens, TokenId id) {
  const auto at = static_cast<size_t>(to_index(id));
  return at < tokens.size() && tokens[at];
}

}  // namespace realizar
