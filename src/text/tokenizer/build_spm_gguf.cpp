// A SentencePiece BPE vocabulary from GGUF metadata: tokens, scores, types and the white space switches.
#include <utility>

#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/plain_types.h"
#include "text/tokenizer/spm_parts.h"

namespace realizar::text {
namespace {

Status check_counts(const GgufVocab& vocab) {
  if (vocab.tokens.empty()) {
    return format_error("tokenizer.ggml.tokens: the vocabulary is empty", "tokenizer.ggml.tokens");
  }
  if (vocab.scores.size() != vocab.tokens.size()) {
    return format_error("tokenizer.ggml.scores: expected " + std::to_string(vocab.tokens.size()) +
                            " entries, one a token, got " + std::to_string(vocab.scores.size()),
                        "tokenizer.ggml.scores");
  }
  return {};
}

// bos, eos, and the tokens put around a text. Vocabularies of this kind begin a text with bos unless they say
// otherwise.
Status read_special_ids(const GgufVocab& vocab, TokenizerParts& parts) {
  const size_t n = vocab.tokens.size();
  RZ_TRY(parts.bos, read_token_id(vocab.bos_id, n, "tokenizer.ggml.bos_token_id"));
  RZ_TRY(parts.eos, read_token_id(vocab.eos_id, n, "tokenizer.ggml.eos_token_id"));
  RZ_TRY(const std::optional<TokenId> eot, read_token_id(vocab.eot_id, n, "tokenizer.ggml.eot_token_id"));
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, eot);
  if (vocab.add_bos.value_or(true) && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (vocab.add_eos.value_or(false) && parts.eos) parts.post.suffix.push_back(*parts.eos);
  return {};
}

}  // namespace

Result<TokenizerParts> build_spm_gguf(const GgufVocab& vocab) {
  RZ_CHECK_OK(check_counts(vocab));
  RZ_TRY(std::vector<TokenType> types, read_token_types(vocab));
  RZ_TRY(std::optional<TokenId> unk,
         read_token_id(vocab.unk_id, vocab.tokens.size(), "tokenizer.ggml.unknown_token_id"));
  set_byte_types(vocab.tokens, types);
  set_plain_types(vocab.tokens, {}, Units::kEscapedCharacters, unk, types);
  if (!unk) unk = first_unknown(types);

  TokenizerParts parts;
  parts.vocab = std::make_unique<Vocabulary>(vocab.tokens, std::move(types));
  RZ_TRY(parts.model, make_spm_bpe_model(*parts.vocab, vocab.scores, unk));
  SpmWhitespace whitespace;
  whitespace.add_prefix = vocab.add_space_prefix.value_or(true);
  parts.normalizer = make_spm_normalizer(nullptr, whitespace);
  parts.strips_leading_space = whitespace.add_prefix;
  parts.added = find_added_tokens(*parts.vocab);
  for (int32_t i = 0; i < parts.vocab->size(); ++i) {
    parts.decoded.add(decode_metaspace_piece(parts.vocab->piece(TokenId{i}), parts.vocab->type(TokenId{i})));
  }
  parts.keeps_invalid_utf8 = has_all_bytes(*parts.vocab);
  RZ_CHECK_OK(read_special_ids(vocab, parts));
  return parts;
}

}  // namespace realizar::text
