#include "text/tokenizer/gguf_vocab.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/bpe_model.h"

namespace realizar::text {

Result<std::vector<TokenType>> read_token_types(const GgufVocab& vocab) {
  std::vector<TokenType> types;
  if (!vocab.token_types.empty() && vocab.token_types.size() != vocab.tokens.size()) {
    return format_error("tokenizer.ggml.token_type: expected " + std::to_string(vocab.tokens.size()) +
                            " entries, one a token, got " + std::to_string(vocab.token_types.size()),
                        "tokenizer.ggml.token_type");
  }
  for (int32_t type : vocab.token_types) {
    const bool known = type >= 1 && type <= 6;
    types.push_back(known ? static_cast<TokenType>(type) : TokenType::kUnused);
  }
  return types;
}

Result<std::optional<TokenId>> read_token_id(std::optional<int64_t> id, size_t n_tokens, const std::string& key) {
  if (!id) return std::optional<TokenId>();
  if (*id < 0 || static_cast<uint64_t>(*id) >= n_tokens) {
    return format_error(key + ": expected an id below " + std::to_string(n_tokens) + ", got " + std::to_string(*id),
                        key);
  }
  return std::optional<TokenId>(TokenId{static_cast<int32_t>(*id)});
}

std::optional<TokenId> first_unknown(const std::vector<TokenType>& types) {
  const auto found = std::ranges::find(types, TokenType::kUnknown);
  if (found == types.end()) return std::nullopt;
  return TokenId{static_cast<int32_t>(found - types.begin())};
}

AddedTokenMatcher find_added_tokens(const Vocabulary& vocab) {
  std::vector<AddedToken> added;
  for (int32_t i = 0; i < vocab.size(); ++i) {
    const TokenId id{i};
    const TokenType type = vocab.type(id);
    const bool special = type == TokenType::kControl || type == TokenType::kUnknown;
    if (!special && type != TokenType::kUserDefined) continue;
    added.push_back({.id = id, .content = std::string(vocab.piece(id)), .special = special});
  }
  return AddedTokenMatcher(std::move(added));
}

std::string decode_metaspace_piece(std::string_view piece, TokenType type) {
  const auto byte = type == TokenType::kByte ? byte_of_token(piece) : std::nullopt;
  if (byte) return std::string(1, static_cast<char>(*byte));
  std::string text;
  for (size_t at = 0; at < piece.size();) {
    const bool is_space = piece.substr(at).starts_with(kMetaspace);
    text += is_space ? ' ' : piece[at];
    at += is_space ? kMetaspace.size() : 1;
  }
  return text;
}

}  // namespace realizar::text
