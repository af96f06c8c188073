// Comparison of ASCII text that ignores case in every locale; other bytes are compared as they are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace realizar {

inline char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return lower_case(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

inline bool starts_with_ignoring_case(std::string_view text, std::string_view begin) {
  return equals_ignoring_case(text.substr(0, begin.size()), begin);
}

inline bool ends_with_ignoring_case(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

}  // namespace realizar
