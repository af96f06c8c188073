// Numbers cut into groups of three digits, counted from the right.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

enum class DigitGroups {
  kCutInside,  // (?=(\d{3})+(?!\d)): what is left over stays with the text before
  kIsolated,   // \d{1,3}(?=(?:\d{3})*\b): every group by itself, in numbers that end at a word's end
};

std::unique_ptr<PreTokenizer> make_digit_groups(DigitGroups kind);

}  // namespace realizar::text
