// Properties and normal forms of Unicode characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::text {

// One-letter and two-letter general categories that tokenizers use. kOther: anything else (controls, other marks,
// unassigned codes).
enum class CharClass : uint8_t {
  kOther,
  kUpper,        // Lu
  kTitle,        // Lt
  kLower,        // Ll
  kModifier,     // Lm
  kOtherLetter,  // Lo
  kMark,         // M
  kNumber,       // N
  kPunctuation,  // P
  kSymbol,       // S
  kSpace,        // White_Space (of any category)
};

CharClass char_class(uint32_t code);
// The property White_Space: the meaning of \s in the regular expressions of tokenizers.
bool is_white_space(uint32_t code);
// The meaning of \w: letters, marks, decimal digits and connector punctuation.
bool is_word_char(uint32_t code);

// Category Nd: the meaning of \d.
bool is_decimal_digit(uint32_t code);
// Category Mn.
bool is_nonspacing_mark(uint32_t code);
// Category C: controls, formats, private use, surrogates and unassigned codes.
bool is_other(uint32_t code);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// The normal form of `text`; bytes that are not UTF-8 stay as they are.
std::string normalize(std::string_view text, NormalForm form);
std::string to_lower(std::string_view text);

}  // namespace realizar::text
