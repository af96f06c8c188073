// Splits numbers into groups of three digits, counted from the right.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

enum class DigitGroups {
  kCutInside,  // (?=(\d{3})+(?!\d)): the remaining digits stay with the text before
  kIsolated,   // \d{1,3}(?=(?:\d{3})*\b): each group is separate, in numbers that end at a word's end
};

std::unique_ptr<PreTokenizer> make_digit_groups(DigitGroups kind);

}  // namespace realizar::text
