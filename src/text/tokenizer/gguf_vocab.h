// Shared by the builders of GGUF vocabularies: checked reading of token types and ids, the tokens that are cut out of a
// text, and the text of a piece that is spelled with U+2581 for spaces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

// U+2581, SentencePiece's spelling of a space.
inline constexpr std::string_view kMetaspace = "\u2581";

// One type per token, or none. Undefined types count as unused.
Result<std::vector<TokenType>> read_token_types(const GgufVocab& vocab);
// `key`: the metadata key, for the error if an id is not below `n_tokens`.
Result<std::optional<TokenId>> read_token_id(std::optional<int64_t> id, size_t n_tokens, const std::string& key);
// The token whose type marks it as the unknown token.
std::optional<TokenId> first_unknown(const std::vector<TokenType>& types);
// Control tokens and user-defined ones are cut out of the text; they are not spelled in an alphabet.
AddedTokenMatcher find_added_tokens(const Vocabulary& vocab);
// <0x0A> is the byte; in other pieces U+2581 is a space.
std::string decode_metaspace_piece(std::string_view piece, TokenType type);

}  // namespace realizar::text
