// A request's rules for single tokens, apart from its grammar: a minimum number, allowed tokens, forbidden words.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "realizar/request.h"

namespace realizar::server {

struct TokenRules {
  uint32_t min_tokens = 0;                           // before which none of `ends` may come
  std::vector<TokenId> ends = {};                    // tokens that end the answer
  std::vector<TokenId> allowed = {};                 // the only permitted tokens; empty: all
  std::vector<std::vector<TokenId>> bad_words = {};  // none is empty

  bool is_empty() const { return min_tokens == 0 && allowed.empty() && bad_words.empty(); }
};

// Constrains a sequence to the rules and to `inner`, which may be null; ids are below n_vocab. Returns `inner` if there
// are no rules.
std::shared_ptr<TokenConstraint> with_rules(std::shared_ptr<TokenConstraint> inner, const TokenRules& rules,
                                            uint32_t n_vocab);

}  // namespace realizar::server
