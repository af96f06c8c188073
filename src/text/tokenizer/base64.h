// Base64 (RFC 4648, section 4) as vocabularies have it: line breaks and missing padding are let pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace realizar::text {

// Nothing where a character is none of the alphabet's.
inline std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    if (c == '=' || c == '\n' || c == '\r') continue;
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes.push_back(static_cast<char>((bits >> n_bits) & 0xFF));
  }
  return bytes;
}

}  // namespace realizar::text
