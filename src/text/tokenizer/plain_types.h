// A vocabulary's types as far as they concern plain text. A token that stands for one unit of text, a byte or a
// character, is part of every text, whatever type it has: a vocabulary that pads with "!" must not swallow the "!" that
// somebody writes.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/vocabulary.h"

namespace realizar::text {

enum class Units {
  kBytes,              // spelled in GPT-2's alphabet
  kCharacters,         // as they are
  kEscapedCharacters,  // a space is spelled U+2581
};

bool is_unit(std::string_view piece, Units units);

// Makes control, unknown and unused tokens that are units part of the text: user-defined, so that they are cut out of
// it, where they are spelled as they stand in a text, else normal. So are tokens that `merges` make out of bytes whose
// spelling is another text. `unk` stays as it is. `types`: one per piece, or none where all are normal.
void set_plain_types(std::span<const std::string_view> pieces, const std::vector<MergeRule>& merges, Units units,
                     std::optional<TokenId> unk, std::vector<TokenType>& types);

// Pieces spelled <0x00> to <0xFF> stand for bytes.
void set_byte_types(std::span<const std::string_view> pieces, std::vector<TokenType>& types);
bool has_all_bytes(const Vocabulary& vocab);

}  // namespace realizar::text
