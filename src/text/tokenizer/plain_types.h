// Adjusts a vocabulary's types for plain text. A token that is one unit of text, a byte or a character, is part of
// every text, whatever its type: a vocabulary that pads with "!" must not swallow a user's "!".
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
  kCharacters,         // unchanged
  kEscapedCharacters,  // a space is spelled U+2581
};

bool is_unit(std::string_view piece, Units units);

// Makes control, unknown and unused tokens that are units part of the text: user-defined if they are spelled as they
// occur in a text, so that they are cut out of it, else normal. Likewise for tokens that `merges` make from bytes whose
// spelling is another text. `unk` stays as it is. `types`: one per piece, or none if all are normal.
void set_plain_types(std::span<const std::string_view> pieces, const std::vector<MergeRule>& merges, Units units,
                     std::optional<TokenId> unk, std::vector<TokenType>& types);

// Pieces spelled <0x00> to <0xFF> represent bytes.
void set_byte_types(std::span<const std::string_view> pieces, std::vector<TokenType>& types);
bool has_all_bytes(const Vocabulary& vocab);

}  // namespace realizar::text
