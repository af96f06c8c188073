#include "text/tokenizer/plain_types.h"

#include <string>
#include <unordered_map>

#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

constexpr uint32_t kBytesInAll = 256;

// Whether the token occurs in a text exactly as the vocabulary spells it.
bool is_literal(std::string_view piece, Units units) {
  if (units == Units::kBytes) return unspell_bytes(piece) == piece;
  return units == Units::kCharacters || piece != kMetaspace;
}

TokenType type_of_unit(TokenType type, bool is_cut_out) {
  const bool is_text = type == TokenType::kNormal || type == TokenType::kByte || type == TokenType::kUnused;
  return is_text || !is_cut_out ? TokenType::kNormal : TokenType::kUserDefined;
}

// No character of a valid text contains these bytes, and their spellings are letters that vocabularies add as words.
bool is_never_in_utf8(std::string_view byte) {
  const auto value = static_cast<uint8_t>(byte[0]);
  return value == 0xC0 || value == 0xC1 || value >= 0xF5;
}

// Tokens whose letters are also the spelling of other bytes, by piece.
std::unordered_map<std::string, size_t> ambiguous_tokens(std::span<const std::string_view> pieces,
                                                         const std::vector<TokenType>& types) {
  std::unordered_map<std::string, size_t> tokens;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (types[i] != TokenType::kUserDefined && types[i] != TokenType::kUnused) continue;
    const auto bytes = unspell_bytes(pieces[i]);
    if (bytes && *bytes != pieces[i]) tokens.emplace(pieces[i], i);
  }
  return tokens;
}

}  // namespace

bool is_unit(std::string_view piece, Units units) {
  if (piece.empty() || decode_char(piece, 0).n_bytes != piece.size() || !decode_char(piece, 0).valid) return false;
  if (units == Units::kBytes) {
    const auto byte = unspell_bytes(piece);
    return byte && !is_never_in_utf8(*byte);
  }
  return units == Units::kCharacters || piece != " ";
}

void set_plain_types(std::span<const std::string_view> pieces, const std::vector<MergeRule>& merges, Units units,
                     std::optional<TokenId> unk, std::vector<TokenType>& types) {
  if (types.empty()) return;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool is_unknown = unk && static_cast<size_t>(to_index(*unk)) == i;
    if (!is_unknown && is_unit(pieces[i], units)) types[i] = type_of_unit(types[i], is_literal(pieces[i], units));
  }
  if (units != Units::kBytes) return;
  const auto ambiguous = ambiguous_tokens(pieces, types);
  if (ambiguous.empty()) return;
  std::string joined;
  for (const auto& [left, right] : merges) {
    joined.assign(left).append(right);
    if (const auto found = ambiguous.find(joined); found != ambiguous.end()) types[found->second] = TokenType::kNormal;
  }
}

void set_byte_types(std::span<const std::string_view> pieces, std::vector<TokenType>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (byte_of_token(pieces[i])) types[i] = TokenType::kByte;
  }
}

bool has_all_bytes(const Vocabulary& vocab) {
  for (uint32_t byte = 0; byte < kBytesInAll; ++byte) {
    if (!vocab.find(spell_byte_token(static_cast<uint8_t>(byte)))) return false;
  }
  return true;
}

}  // namespace realizar::text
