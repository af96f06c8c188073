// A model for tests of constraints, which wants to write a given text and obeys the constraint.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/request.h"
#include "text/tokenizer/byte_tokenizer_rig.h"

namespace realizar {

// The only allowed token, nullopt if several are allowed.
inline std::optional<TokenId> forced_by(TokenConstraint& constraint, int32_t n_vocab) {
  std::vector<uint64_t> words((static_cast<size_t>(n_vocab) + 63) / 64);
  if (!constraint.allow(words)) return std::nullopt;
  std::set<int32_t> ids;
  for (int32_t id = 0; id < n_vocab; ++id) {
    if ((words[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0) ids.insert(id);
  }
  return ids.size() == 1 ? std::optional(TokenId{*ids.begin()}) : std::nullopt;
}

// The token that `wanted` begins with: a piece of the vocabulary, or a byte.
inline TokenId first_token(const text::Tokenizer& tokenizer, std::string_view wanted) {
  for (int32_t id = 257; id < tokenizer.n_vocab(); ++id) {
    if (wanted.starts_with(tokenizer.piece(TokenId{id}))) return TokenId{id};
  }
  return text::byte_token(static_cast<uint8_t>(wanted.front()));
}

// The model's text, with forced tokens in brackets. At the end of `wanted` it writes `end`, unless it must continue.
inline std::string written(const text::Tokenizer& tokenizer, TokenConstraint& constraint, std::string_view wanted,
                           std::optional<TokenId> end = {}) {
  std::string text;
  while (true) {
    auto id = forced_by(constraint, tokenizer.n_vocab());
    if (id && id == end) return text;
    if (id) {
      text += "[" + tokenizer.token_bytes(*id) + "]";
    } else if (!wanted.empty()) {
      id = first_token(tokenizer, wanted);
      text += tokenizer.token_bytes(*id);
      wanted.remove_prefix(tokenizer.token_bytes(*id).size());
    } else {
      if (!end || !constraint.refuse_end(*end)) return text;
      continue;
    }
    constraint.accept(*id);
  }
}

}  // namespace realizar
