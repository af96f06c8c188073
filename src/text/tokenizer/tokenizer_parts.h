// The interface between Tokenizer and its builders: the parts chosen by a vocabulary's description, and the struct that
// holds them. A text passes through them in this order:
//   added tokens (raw) -> per segment: normalizer -> added tokens (normalized) -> pre-tokenizer -> model -> post
// and comes back through `decoded`, one byte string per token.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

// The model step of a tokenizer: one piece of normalized, pre-tokenized text becomes token ids. Byte-level BPE,
// SentencePiece BPE, unigram, WordPiece and longest match each have a class that implements it. Immutable: any thread
// may call.
class MergeModel {
 public:
  virtual ~MergeModel() = default;

  // Appends the ids of `word` to `out`. `word` may be megabytes long (vocabularies without a pre-tokenizer get whole
  // texts), so the work must be nearly linear in its length. It is valid UTF-8 unless the tokenizer keeps invalid bytes
  // (TokenizerParts::keeps_invalid_utf8), and never empty.
  virtual void encode_word(std::string_view word, std::vector<TokenId>& out) const = 0;
};

// Rewrites one segment (the text between added tokens). `at_start`: nothing precedes it.
// Any thread may call. In invalid UTF-8 (only if the tokenizer keeps it) a normalizer leaves the invalid bytes as they
// are.
using Normalizer = std::function<void(std::string& segment, bool at_start)>;

// A segment and its division into pieces, in order. Bytes of `text` outside of all ranges are dropped.
struct Pieces {
  std::string text;
  std::vector<TextRange> ranges;  // none empty
  bool at_start = true;           // nothing precedes the segment
};

// Divides every piece further; may also rewrite the text (then it replaces all ranges). Any thread may call.
using PreTokenizer = std::function<void(Pieces& pieces)>;

// The tokens put around a text with EncodeOptions::add_special.
struct PostProcessor {
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  std::optional<std::vector<TokenId>> between = {};  // between two texts in one input; nullopt: the suffix
};

struct TokenizerParts {
  std::unique_ptr<Vocabulary> vocab;   // never null; the model may point into it
  AddedTokenMatcher added;             // searched in the original text
  AddedTokenMatcher added_normalized;  // searched after the normalizer
  Normalizer normalizer;               // empty: none
  PreTokenizer pre_tokenizer;          // empty: a segment is one piece
  std::unique_ptr<MergeModel> model;   // never null
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
