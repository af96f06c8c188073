// Byte-pair encoding as a model step: over bytes (GPT-2 and its descendants) or over characters (SentencePiece BPE
// vocabularies written as tokenizer.json).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

struct BpeOptions {
  // Words are raw bytes; the vocabulary spells them in GPT-2's byte alphabet. Excludes the prefix and the suffix below.
  bool byte_level = false;
  bool ignore_merges = false;  // a word that is in the vocabulary becomes that token
  bool byte_fallback = false;  // an unknown character becomes its bytes, spelled <0x00> to <0xFF>, if all of them exist
  bool fuse_unk = false;       // adjacent unknown characters become one unknown token
  std::optional<TokenId> unk_id;
  std::string continuing_subword_prefix;  // prefix of every symbol of a word except the first
  std::string end_of_word_suffix;         // suffix of the last symbol of a word
};

using MergeRule = std::pair<std::string_view, std::string_view>;

// A rule with an explicit rank: rules of the same rank are applied from left to right, in any mixture.
struct RankedRule {
  MergeRule parts;
  uint32_t rank = 0;  // lower is earlier
};

// `merges` in order of rank. Keeps a reference to `vocab`; the rules are not kept. Control and unknown
// tokens are never produced, except those of one unit and unk_id. Errors: FormatError (a rule whose parts or result are
// not in the vocabulary).
Result<std::unique_ptr<MergeModel>> make_bpe_model(const Vocabulary& vocab, const std::vector<MergeRule>& merges,
                                                   BpeOptions options);

Result<std::unique_ptr<MergeModel>> make_ranked_bpe_model(const Vocabulary& vocab,
                                                          const std::vector<RankedRule>& merges, BpeOptions options);

// "<0x00>" to "<0xFF>".
std::string spell_byte_token(uint8_t byte);
// The byte of a piece with such a spelling.
std::optional<uint8_t> byte_of_token(std::string_view piece);

}  // namespace realizar::text
