// Converts text to token ids and back. One class for every vocabulary: normalizer, added tokens, pre-tokenizer, merge
// model, post-processor and decoder are parts chosen by a vocabulary's description. Immutable after construction: any
// thread may call it. It never guesses from a model's name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "realizar/types.h"

namespace realizar::text {

// The meaning of GGUF's tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

// A vocabulary as described by GGUF metadata (keys tokenizer.ggml.*). Views must be valid until from_gguf returns.
struct GgufVocab {
  std::string model;  // "gpt2" (byte-level BPE), "llama" (SentencePiece BPE), "t5" (unigram), "bert" (WordPiece),
                      // "rwkv" (longest match)
  std::string pre;    // the pre-tokenizer's name; "" or "default" if absent
  std::vector<std::string_view> tokens;
  std::vector<float> scores;         // empty or one per token
  std::vector<int32_t> token_types;  // empty or one per token
  std::vector<std::string_view> merges;
  std::optional<int64_t> bos_id, eos_id, eot_id, unk_id, sep_id, pad_id, cls_id, mask_id;
  std::optional<bool> add_sep;  // after the token that ends the first of two texts
  std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
  std::optional<bool> lowercase, strip_accents;  // for WordPiece; by default accents are stripped when lowercasing
  std::vector<uint8_t> precompiled_charsmap;
};

// A piece of a prompt. `is_input` marks a user's text: no special token is ever recognized in it.
struct PromptPiece {
  std::string text;
  bool is_input = false;
};

struct EncodeOptions {
  bool add_special = true;    // add the tokens of the vocabulary's post-processor (bos, eos, [CLS] ...)
  bool parse_special = true;  // recognize control tokens written in the text
};

struct DecodeOptions {
  bool skip_special = true;  // leave control tokens out
};

// Two texts as one input, with the vocabulary's tokens around and between them.
struct TokenPair {
  std::vector<TokenId> ids;
  size_t n_first = 0;  // tokens of the first text, including those that end it
};

struct TokenizerParts;

class Tokenizer {
 public:
  // Errors: FormatError (ids out of range, duplicate or missing pieces), Unsupported (unknown model or pre-tokenizer).
  static Result<Tokenizer> from_gguf(const GgufVocab& vocab);
  // `tokenizer_json` is Hugging Face's tokenizer.json; `config_json` its tokenizer_config.json, or empty.
  static Result<Tokenizer> from_hf(std::string_view tokenizer_json, std::string_view config_json);
  // `model` is tokenizer.model: a serialized sentencepiece ModelProto, or tiktoken's ranks where `config_json`, as
  // above, has GLM-4's tokenizer_class.
  static Result<Tokenizer> from_sentencepiece(std::string_view model, std::string_view config_json);
  // `vocab` is RWKV's rwkv_vocab_v20230424.txt; `config_json` as above.
  static Result<Tokenizer> from_rwkv(std::string_view vocab, std::string_view config_json);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Invalid UTF-8 is read as U+FFFD for each invalid sequence, except that byte-level and byte-fallback vocabularies
  // keep what they can represent.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  // Encodes the joined text, but recognizes special tokens only inside pieces that are not input.
  std::vector<TokenId> encode(std::span<const PromptPiece> pieces, EncodeOptions options = {}) const;

  // No special token is recognized in the texts.
  TokenPair encode_pair(std::string_view first, std::string_view second) const;

  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;
  // The bytes of a token in the middle of a text (may be part of a UTF-8 character). "" for control tokens with
  // options.skip_special, and for ids outside the vocabulary.
  std::string token_bytes(TokenId id, DecodeOptions options = {}) const;
  // True if the decoder removes one leading space from the text (SentencePiece's dummy prefix).
  bool strips_leading_space() const;

  int32_t n_vocab() const;
  // The length of the longest decoded token, at least 4: a text longer than n times this has more than n tokens, unless
  // the vocabulary drops or joins much of it (runs of spaces, unknown letters).
  size_t longest_token_bytes() const;
  // The piece in the vocabulary's spelling, e.g. "Ġhello" or "▁hello".
  std::string_view piece(TokenId id) const;
  std::optional<TokenId> find(std::string_view piece) const;
  TokenType type(TokenId id) const;

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  // Tokens that end a turn: eos, eot and the vocabulary's other end-of-turn control tokens.
  std::span<const TokenId> end_tokens() const;

 private:
  struct Impl;
  static Result<Tokenizer> from_parts(Result<TokenizerParts> parts);
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::text
