// The interface between Tokenizer and its builders: the parts chosen by a vocabulary's description, and the struct that
// holds them. A text passes through them in this order:
//   added tokens (raw) -> per segment: normalizer -> added tokens (normalized) -> pre-tokenizer -> model -> post
// and comes back through `decoded`, one byte string per token.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/merge_model.h"
#include "text/tokenizer/string_table.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

// Rewrites one segment (the text between added tokens). `at_start`: nothing precedes it.
// In invalid UTF-8 (only if the tokenizer keeps it) a normalizer leaves the invalid bytes as they are.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(std::string& segment, bool at_start) const = 0;
};

// A segment and its division into pieces, in order. Bytes of `text` outside of all ranges are dropped.
struct Pieces {
  std::string text;
  std::vector<TextRange> ranges;  // none empty
  bool at_start = true;           // nothing precedes the segment
};

// Divides every piece further; may also rewrite the text (then it replaces all ranges).
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

// The tokens put around a text with EncodeOptions::add_special.
struct PostProcessor {
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  std::optional<std::vector<TokenId>> between = {};  // between two texts in one input; nullopt: the suffix
};

struct TokenizerParts {
  std::unique_ptr<Vocabulary> vocab;            // never null; the model may point into it
  AddedTokenMatcher added;                      // searched in the original text
  AddedTokenMatcher added_normalized;           // searched after the normalizer
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: a segment is one piece
  std::unique_ptr<MergeModel> model;            // never null
  PostProcessor post;

  // decoded[id]: the bytes of the token in the middle of a text, whatever its type; one per vocabulary entry.
  StringTable decoded;
  bool strips_leading_space = false;  // the decoder removes one leading space from the text
  // The model can represent any bytes, so invalid UTF-8 reaches it unchanged; otherwise it arrives as U+FFFD.
  bool keeps_invalid_utf8 = false;

  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::vector<TokenId> end_tokens;
};

}  // namespace realizar::text
