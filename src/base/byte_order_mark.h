// The mark that some editors write before a text in UTF-8. It is not part of the text.
#pragma once

#include <string>
#include <string_view>

namespace realizar {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline std::string_view after_byte_order_mark(std::string_view text) {
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

inline std::string without_byte_order_mark(std::string text) {
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace realizar
