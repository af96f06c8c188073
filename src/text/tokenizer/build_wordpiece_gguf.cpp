// A WordPiece vocabulary from GGUF metadata. Pieces that begin a word are spelled with a leading U+2581 and those that
// continue one without "##"; text is cleaned and split like in BERT's models.
#include <utility>

#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/plain_types.h"
#include "text/tokenizer/pre_tokenizers.h"

namespace realizar::text {
namespace {

Result<std::optional<TokenId>> first_id(const GgufVocab& vocab, std::optional<int64_t> id, std::optional<int64_t> other,
                                        const std::string& key) {
  return read_token_id(id ? id : other, vocab.tokens.size(), key);
}

// Single-character pieces occur in every text, at a word's beginning and within it.
void set_unit_types(const GgufVocab& vocab, std::optional<TokenId> unk, std::vector<TokenType>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    std::string_view piece = vocab.tokens[i];
    if (piece.starts_with(kMetaspace)) piece.remove_prefix(kMetaspace.size());
    const bool is_unknown = unk && static_cast<size_t>(to_index(*unk)) == i;
    if (!is_unknown && is_unit(piece, Units::kCharacters)) types[i] = TokenType::kNormal;
  }
}

}  // namespace

Result<TokenizerParts> build_wordpiece_gguf(const GgufVocab& vocab) {
  if (vocab.tokens.empty()) return format_error("the vocabulary is empty", "tokenizer.ggml.tokens");
  RZ_TRY(std::vector<TokenType> types, read_token_types(vocab));
  RZ_TRY(const std::optional<TokenId> unk,
         read_token_id(vocab.unk_id, vocab.tokens.size(), "tokenizer.ggml.unknown_token_id"));
  set_unit_types(vocab, unk, types);
  TokenizerParts parts;
  parts.vocab = std::make_unique<Vocabulary>(vocab.tokens, std::move(types));
  WordPieceOptions options;
  if (unk) options.unk_token = parts.vocab->piece(*unk);
  options.word_prefix = kMetaspace;
  options.continuing_subword_prefix = "";
  RZ_TRY(parts.model, make_wordpiece_model(*parts.vocab, std::move(options)));
  const bool lowercase = vocab.lowercase.value_or(true);
  parts.normalizer =
      make_bert_normalizer({.strip_accents = vocab.strip_accents.value_or(lowercase), .lowercase = lowercase});
  parts.pre_tokenizer = make_bert_split();
  parts.added = find_added_tokens(*parts.vocab);
  for (int32_t i = 0; i < parts.vocab->size(); ++i) {
    parts.decoded.add(decode_metaspace_piece(parts.vocab->piece(TokenId{i}), parts.vocab->type(TokenId{i})));
  }
  parts.strips_leading_space = true;
  RZ_TRY(parts.bos, first_id(vocab, vocab.cls_id, vocab.bos_id, "tokenizer.ggml.cls_token_id"));
  RZ_TRY(parts.eos, first_id(vocab, vocab.sep_id, vocab.eos_id, "tokenizer.ggml.seperator_token_id"));
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, std::nullopt);
  if (vocab.add_bos.value_or(true) && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (vocab.add_eos.value_or(true) && parts.eos) parts.post.suffix.push_back(*parts.eos);
  return parts;
}

}  // namespace realizar::text
