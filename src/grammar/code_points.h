// Sets of Unicode code points as sorted ranges, and their UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/expression.h"

namespace realizar::grammar {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

constexpr bool is_surrogate(uint32_t code) {
  return code >= 0xD800 && code <= 0xDFFF;
}

void append_utf8(std::string& out, uint32_t code);

// The code point at text[at], whose length is added to `at`; kBadCodePoint, with a length of one byte, if it is
// malformed.
inline constexpr uint32_t kBadCodePoint = 0xFFFFFFFF;
uint32_t read_utf8(std::string_view text, size_t& at);

// Sorted and merged, without surrogates (which UTF-8 cannot encode).
std::vector<CodeRange> normalized(std::vector<CodeRange> ranges);
// All code points except those of `ranges`, normalized.
std::vector<CodeRange> complement(std::vector<CodeRange> ranges);
// Both arguments are normalized.
std::vector<CodeRange> intersection(const std::vector<CodeRange>& a, const std::vector<CodeRange>& b);

// Up to four consecutive byte ranges: the UTF-8 of a block of code points.
struct ByteRange {
  uint8_t first = 0, last = 0;
};
struct Utf8Block {
  uint32_t n_bytes = 0;
  ByteRange bytes[4];
};
// Blocks that together encode exactly first..last, which contains no surrogate.
void append_utf8_blocks(CodeRange range, std::vector<Utf8Block>& blocks);

}  // namespace realizar::grammar
