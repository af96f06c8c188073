// Builders of the parts: one function for each kind of description, one file per function. Tokenizer::from_* only
// dispatches to them.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/pre_tokenizer_table.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

// tokenizer.ggml.model == "gpt2"
Result<TokenizerParts> build_bpe_gguf(const GgufVocab& vocab);
// tokenizer.ggml.model == "llama"
Result<TokenizerParts> build_spm_gguf(const GgufVocab& vocab);
// tokenizer.ggml.model == "t5"
Result<TokenizerParts> build_unigram_gguf(const GgufVocab& vocab);
// tokenizer.ggml.model == "bert"
Result<TokenizerParts> build_wordpiece_gguf(const GgufVocab& vocab);
// tokenizer.ggml.model == "rwkv"
Result<TokenizerParts> build_rwkv_gguf(const GgufVocab& vocab);
// RWKV's World vocabulary in its own file format, one token per line.
Result<TokenizerParts> build_rwkv_lines(std::string_view file, std::string_view config_json);
// GLM-4's file of tiktoken's ranks; `config`: tokenizer_config.json, an object.
Result<TokenizerParts> build_tiktoken(std::string_view ranks, const simdjson::dom::element& config);
// A serialized sentencepiece ModelProto, or, for GLM-4's tokenizer_class, the above.
Result<TokenizerParts> build_spm_model(std::string_view model, std::string_view config_json);
// Hugging Face's tokenizer.json.
Result<TokenizerParts> build_hf(std::string_view tokenizer_json, std::string_view config_json);

// Models for tokenizer.json. They keep a reference to `vocab`.
struct UnigramOptions {
  std::vector<float> scores;  // one per token
  std::optional<TokenId> unk_id;
  bool byte_fallback = false;
  bool float_sums = false;          // sums of scores are rounded to F32, as in SentencePiece
  bool favor_user_defined = false;  // user-defined pieces win over all others, as in SentencePiece
};
// Unknown characters become their bytes (with byte_fallback, if the vocabulary has all bytes of the character), else
// `unk_id`, once for a run of them. Errors: FormatError (scores).
Result<std::unique_ptr<MergeModel>> make_unigram_model(const Vocabulary& vocab, UnigramOptions options);

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string word_prefix;  // spelling of pieces that begin a word
  std::string continuing_subword_prefix = "##";
  int64_t max_input_chars_per_word = 100;
};
Result<std::unique_ptr<MergeModel>> make_wordpiece_model(const Vocabulary& vocab, WordPieceOptions options);

// Looks up the whole word, or returns the unknown token.
Result<std::unique_ptr<MergeModel>> make_wordlevel_model(const Vocabulary& vocab, std::string_view unk_token);

// `bytes[id]`: the bytes of a token; read during construction only. Bytes without a token become `unk`. Errors:
// FormatError (a byte without a token and no unknown token, a token that is too long).
Result<std::unique_ptr<MergeModel>> make_longest_match_model(const Vocabulary& vocab, const StringTable& bytes,
                                                             std::optional<TokenId> unk);

// The normalizer of a sentencepiece "precompiled_charsmap" blob.
Result<Normalizer> make_charsmap_normalizer(std::span<const uint8_t> charsmap);

// The regular expressions of a row, applied in order.
Result<PreTokenizer> build_named_pre_tokenizer(const NamedPreTokenizer& named);

// The tokens that end a turn: `eos`, `eot`, and the control tokens in `vocab` that are known to end one.
std::vector<TokenId> find_end_tokens(const Vocabulary& vocab, std::optional<TokenId> eos, std::optional<TokenId> eot);

}  // namespace realizar::text
