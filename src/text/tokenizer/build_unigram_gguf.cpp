// A SentencePiece unigram vocabulary from GGUF metadata.
#include <utility>

#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/spm_parts.h"

namespace realizar::text {

Result<TokenizerParts> build_unigram_gguf(const GgufVocab& vocab) {
  const size_t n = vocab.tokens.size();
  if (vocab.scores.size() != n) {
    return format_error("tokenizer.ggml.scores: expected " + std::to_string(n) + " entries, one a token, got " +
                            std::to_string(vocab.scores.size()),
                        "tokenizer.ggml.scores");
  }
  SpmDescription description;
  description.pieces.assign(vocab.tokens.begin(), vocab.tokens.end());
  description.scores = vocab.scores;
  RZ_TRY(description.types, read_token_types(vocab));
  description.types.resize(n, TokenType::kNormal);
  for (const TokenType type : description.types) description.byte_fallback |= type == TokenType::kByte;
  description.charsmap = vocab.precompiled_charsmap;
  description.whitespace.add_prefix = vocab.add_space_prefix.value_or(true);
  description.whitespace.remove_extra = vocab.remove_extra_whitespaces.value_or(false);
  RZ_TRY(description.unk, read_token_id(vocab.unk_id, n, "tokenizer.ggml.unknown_token_id"));
  RZ_TRY(description.bos, read_token_id(vocab.bos_id, n, "tokenizer.ggml.bos_token_id"));
  RZ_TRY(description.eos, read_token_id(vocab.eos_id, n, "tokenizer.ggml.eos_token_id"));
  RZ_TRY(description.eot, read_token_id(vocab.eot_id, n, "tokenizer.ggml.eot_token_id"));
  description.add_bos = vocab.add_bos.value_or(false);
  description.add_eos = vocab.add_eos.value_or(true);
  RZ_TRY(const auto sep, read_token_id(vocab.sep_id, n, "tokenizer.ggml.seperator_token_id"));
  RZ_TRY(TokenizerParts parts, build_spm(std::move(description)));
  // For XLM-RoBERTa, even if an older file does not state it: a T5 vocabulary has no such token.
  if (sep && vocab.add_sep.value_or(true)) {
    parts.post.between = parts.post.suffix;
    parts.post.between->push_back(*sep);
  }
  return parts;
}

}  // namespace realizar::text
