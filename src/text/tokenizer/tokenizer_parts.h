// The seam between Tokenizer and its builders: the parts that a vocabulary's description chooses, and the struct that
// holds them assembled. A text goes through them in this order:
//   added tokens (raw) -> per segment: normalizer -> added tokens (normalized) -> pre-tokenizer -> model -> post
// and comes back through `decoded`, one byte string a token.
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

// Rewrites one segment (the text between added tokens). `at_start`: nothing comes before it.
// Given invalid UTF-8 (only if the tokenizer keeps it) a normalizer leaves the bad bytes as they are.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(std::string& segment, bool at_start) const = 0;
};

// A segment and its division into pieces, in order. Bytes of `text` that no range covers are dropped.
struct Pieces {
  std::string text;
  std::vector<TextRange> ranges;  // none empty
  bool at_start = true;           // nothing comes before the segment
};

// Divides every piece further; may also rewrite the text (then it gives all ranges anew).
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

// What is put around the ids of a text when EncodeOptions::add_special.
struct PostProcessor {
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  std::optional<std::vector<TokenId>> between = {};  // of two texts that are one input; nothing: the suffix
};

struct TokenizerParts {
  std::unique_ptr<Vocabulary> vocab;            // never null; the model may point into it
  AddedTokenMatcher added;                      // looked for in the text as it came
  AddedTokenMatcher added_normalized;           // looked for after the normalizer
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: a segment is one piece
  std::unique_ptr<MergeModel> model;            // never null
  PostProcessor post;

  // decoded[id]: the bytes that the token adds in the middle of a text, whatever its type; one per vocabulary entry.
  StringTable decoded;
  bool strips_leading_space = false;  // the decoder takes one leading space off the text
  // The model can represent any bytes, so invalid UTF-8 reaches it as it came; otherwise it arrives as U+FFFD.
  bool keeps_invalid_utf8 = false;

  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::vector<TokenId> end_tokens;
};

}  // namespace realizar::text
