// What the builders of GGUF vocabularies share: reading token types and ids with their checks, the tokens that are cut
// out of a text, and the text that a piece spelled with U+2581 for spaces stands for.
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

// One type a token, or none. Types that the format does not name count as unused.
Result<std::vector<TokenType>> read_token_types(const GgufVocab& vocab);
// `key` names the metadata in the error of an id that is not below `n_tokens`.
Result<std::optional<TokenId>> read_token_id(std::optional<int64_t> id, size_t n_tokens, const std::string& key);
// The token whose type says that it stands for what the vocabulary has no piece for.
std::optional<TokenId> first_unknown(const std::vector<TokenType>& types);
// Control tokens and user-defined ones are cut out of the text; they stand for themselves, in no alphabet.
AddedTokenMatcher find_added_tokens(const Vocabulary& vocab);
// <0x0A> is the byte; in other pieces U+2581 is a space.
std::string decode_metaspace_piece(std::string_view piece, TokenType type);

}  // namespace realizar::text
