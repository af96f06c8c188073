// Character boundaries in UTF-8, and its byte order mark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar {

// Whether the byte continues a character rather than beginning one.
constexpr bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

// The mark that some editors write before a text in UTF-8. It is not part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline std::string_view after_byte_order_mark(std::string_view text) {
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

inline std::string without_byte_order_mark(std::string text) {
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace realizar
