// What a request wants of single tokens, apart from its grammar: how many at least, which of them, which words never.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "realizar/request.h"

namespace realizar::server {

struct TokenRules {
  uint32_t min_tokens = 0;                           // before which nothing of `ends` may come
  std::vector<TokenId> ends = {};                    // what ends the answer
  std::vector<TokenId> allowed = {};                 // and nothing else; empty: every token
  std::vector<std::vector<TokenId>> bad_words = {};  // none empty

  bool is_empty() const { return min_tokens == 0 && allowed.empty() && bad_words.empty(); }
};

// Holds a sequence to the rules and to `inner`, which may be null; ids are below n_vocab. Gives `inner` where there are
// no rules.
std::shared_ptr<TokenConstraint> with_rules(std::shared_ptr<TokenConstraint> inner, const TokenRules& rules,
                                            uint32_t n_vocab);

}  // namespace realizar::server
