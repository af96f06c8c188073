// A SentencePiece model in memory, from any file format, and the tokenizer that it describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/spm_normalizer.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

struct SpmDescription {
  bool unigram = true;              // false: BPE
  std::vector<std::string> pieces;  // "" is a hole
  std::vector<float> scores;        // one per piece
  std::vector<TokenType> types;     // one per piece
  std::vector<uint8_t> charsmap;    // may be empty
  SpmWhitespace whitespace;
  bool byte_fallback = false;
  std::optional<TokenId> unk, bos, eos, eot;
  bool add_bos = false, add_eos = false;
};

// Control pieces are cut out of the original text, user-defined ones out of the normalized text; each text between
// control pieces is normalized separately. Errors: FormatError.
Result<TokenizerParts> build_spm(SpmDescription description);

}  // namespace realizar::text
