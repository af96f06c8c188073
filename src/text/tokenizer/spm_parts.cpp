#include "text/tokenizer/spm_parts.h"

#include <string_view>
#include <utility>

#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/plain_types.h"
#include "text/tokenizer/spm_bpe.h"

namespace realizar::text {
namespace {

Result<std::unique_ptr<MergeModel>> make_model(SpmDescription& description, const Vocabulary& vocab) {
  if (!description.unigram) return make_spm_bpe_model(vocab, description.scores, description.unk);
  UnigramOptions options;
  options.scores = std::move(description.scores);
  options.unk_id = description.unk;
  options.byte_fallback = description.byte_fallback;
  options.float_sums = options.favor_user_defined = true;
  return make_unigram_model(vocab, std::move(options));
}

// Spaces in the content become U+2581 as in the text, but no prefix is added.
std::string normalized_content(const SpmDescription& description, std::string_view content) {
  SpmWhitespace inside = description.whitespace;
  inside.add_prefix = inside.remove_extra = false;
  std::string text(content);
  make_spm_normalizer(nullptr, inside)->apply(text, false);
  return text;
}

void set_added(const SpmDescription& description, TokenizerParts& parts) {
  std::vector<AddedToken> control, user_defined;
  for (int32_t i = 0; i < parts.vocab->size(); ++i) {
    const TokenId id{i};
    const TokenType type = parts.vocab->type(id);
    const std::string_view piece = parts.vocab->piece(id);
    if (type == TokenType::kControl || type == TokenType::kUnknown) {
      control.push_back({.id = id, .content = std::string(piece), .special = true});
    } else if (type == TokenType::kUserDefined) {
      user_defined.push_back({.id = id, .content = normalized_content(description, piece)});
    }
  }
  parts.added = AddedTokenMatcher(std::move(control));
  parts.added_normalized = AddedTokenMatcher(std::move(user_defined));
}

}  // namespace

Result<TokenizerParts> build_spm(SpmDescription description) {
  if (description.pieces.empty()) return format_error("the vocabulary is empty", "pieces");
  TokenizerParts parts;
  const std::vector<std::string_view> pieces(description.pieces.begin(), description.pieces.end());
  if (!description.unigram || description.byte_fallback) set_byte_types(pieces, description.types);
  set_plain_types(pieces, {}, Units::kEscapedCharacters, description.unk, description.types);
  if (!description.unk) description.unk = first_unknown(description.types);
  parts.vocab = std::make_unique<Vocabulary>(pieces, description.types);
  RZ_TRY(std::unique_ptr<Normalizer> charsmap, make_charsmap_normalizer(description.charsmap));
  parts.normalizer = make_spm_normalizer(std::move(charsmap), description.whitespace);
  RZ_TRY(parts.model, make_model(description, *parts.vocab));
  set_added(description, parts);
  for (int32_t i = 0; i < parts.vocab->size(); ++i) {
    parts.decoded.add(decode_metaspace_piece(parts.vocab->piece(TokenId{i}), parts.vocab->type(TokenId{i})));
  }
  parts.strips_leading_space = description.whitespace.add_prefix || description.whitespace.remove_extra;
  parts.bos = description.bos;
  parts.eos = description.eos;
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, description.eot);
  if (description.add_bos && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (description.add_eos && parts.eos) parts.post.suffix.push_back(*parts.eos);
  return parts;
}

}  // namespace realizar::text
