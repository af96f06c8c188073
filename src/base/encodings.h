// Bytes as text: Base64 (RFC 4648, section 4), percent-encoding (RFC 3986, section 2.1), hexadecimal digits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace realizar {

std::string encode_base64(std::string_view bytes);
// Tolerant like the files of vocabularies: line breaks and missing padding are accepted. Nullopt if a character is not
// in the alphabet.
std::optional<std::string> decode_base64(std::string_view text);

// Decodes %41 to A; a % without two hexadecimal digits after it stays.
std::string percent_decoded(std::string_view text);
// Bytes that are not allowed in a path become %XX; "/" stays.
std::string percent_encoded(std::string_view path);

// The value of a digit in either case; -1 for any other character.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Two lower-case digits for each byte.
inline std::string hex_of(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace realizar
