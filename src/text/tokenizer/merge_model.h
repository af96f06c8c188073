// The model step of a tokenizer: one piece of normalized, pre-tokenized text becomes token ids. Byte-level BPE,
// SentencePiece BPE, unigram, WordPiece and longest match each have a class that implements it. Immutable: any thread
// may call.
#pragma once

#include <string_view>
#include <vector>

#include "realizar/types.h"

namespace realizar::text {

class MergeModel {
 public:
  virtual ~MergeModel() = default;

  // Appends the ids of `word` to `out`. `word` may be megabytes long (vocabularies without a pre-tokenizer get whole
  // texts), so the work must be nearly linear in its length. It is valid UTF-8 unless the tokenizer keeps invalid bytes
  // (TokenizerParts::keeps_invalid_utf8), and never empty.
  virtual void encode_word(std::string_view word, std::vector<TokenId>& out) const = 0;
};

}  // namespace realizar::text
