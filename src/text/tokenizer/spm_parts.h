// A SentencePiece model in memory, from any file format, and the tokenizer that it describes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

// SentencePiece's normalizer: its character map, then its white space: spaces become U+2581, another one is put before
// the text, and (optionally) spaces at the ends and repeated ones are dropped.
struct SpmWhitespace {
  bool add_prefix = true;            // U+2581 before a segment ...
  bool prefix_every_segment = true;  // ... also after an added token, not only at the text's start
  bool remove_extra = false;
  bool escape = true;  // spaces become U+2581
};
// `charsmap` may be null.
Normalizer make_spm_normalizer(Normalizer charsmap, SpmWhitespace options);

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

// SentencePiece BPE (Kudo and Richardson 2018) as ranked merge rules: it always joins the adjacent pair whose joined
// piece has the highest score, the leftmost of equals, so a piece's rank is the index of its score. `scores`: one per
// piece. Unknown characters become their bytes if the vocabulary spells all of them (<0x00> to <0xFF>), else `unk_id`,
// once for a run of them. Keeps a reference to `vocab`. Errors: FormatError (a piece over kMaxSpmPieceBytes, a score
// that is not a number).
Result<std::unique_ptr<MergeModel>> make_spm_bpe_model(const Vocabulary& vocab, std::span<const float> scores,
                                                       std::optional<TokenId> unk_id);

// A piece is looked up at each possible split, so its length is bounded.
inline constexpr size_t kMaxSpmPieceBytes = 1024;

}  // namespace realizar::text
