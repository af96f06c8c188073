// SentencePiece BPE (Kudo and Richardson 2018) as ranked merge rules: it always joins the adjacent pair whose joined
// piece has the highest score, the leftmost of equals, so a piece's rank is the index of its score.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "realizar/result.h"
#include "text/tokenizer/merge_model.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

// `scores`: one per piece. Unknown characters become their bytes if the vocabulary spells all of them (<0x00> to
// <0xFF>), else `unk_id`, once for a run of them. Keeps a reference to `vocab`. Errors: FormatError (a piece over
// kMaxSpmPieceBytes, a score that is not a number).
Result<std::unique_ptr<MergeModel>> make_spm_bpe_model(const Vocabulary& vocab, std::span<const float> scores,
                                                       std::optional<TokenId> unk_id);

// A piece is looked up at each possible split, so its length is bounded.
inline constexpr size_t kMaxSpmPieceBytes = 1024;

}  // namespace realizar::text
