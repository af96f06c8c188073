// Hand-written UTF-8: decodes single characters, and handles invalid bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::text {

inline constexpr uint32_t kReplacementChar = 0xFFFD;

struct DecodedChar {
  uint32_t code = kReplacementChar;
  uint32_t n_bytes = 1;  // at least 1
  bool valid = false;
};

// The character at `at` < text.size(). If it is invalid, n_bytes is the length of the maximal bad subpart (Unicode
// 15.0, section 3.9, "U+FFFD substitution of maximal subparts").
DecodedChar decode_char(std::string_view text, size_t at);

void append_utf8(std::string& out, uint32_t code);

bool is_valid_utf8(std::string_view text);

// The longest prefix of at most max_bytes that does not end inside a character.
std::string_view whole_chars(std::string_view text, size_t max_bytes);

// Every maximal bad subpart becomes U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

// A valid text of the same length with every invalid byte replaced by U+001A (SUBSTITUTE), so that offsets are the same
// in both. Regular expressions search this text; the bytes are then taken from the original.
std::string mask_invalid_utf8(std::string_view text);

}  // namespace realizar::text
