#include "text/tokenizer/regex.h"

#include <gtest/gtest.h>

namespace realizar::text {
namespace {

std::string first_match(std::string_view pattern, std::string_view text) {
  auto regex = Regex::compile(pattern);
  if (!regex.ok()) return to_string(regex.error().code);
  const auto match = regex->find(text, 0);
  return match ? std::string(text.substr(match->begin, match->end - match->begin)) : "none";
}

TEST(Regex, ReadsOnigurumaSyntax) {
  EXPECT_EQ(first_match("\\s+", "a\u0085\u3000b"), "\u0085\u3000");
  EXPECT_EQ(first_match("\\s", "\u180E"), "none");
  EXPECT_EQ(first_match("[^\\s]+", " \u180E "), "\u180E");
  EXPECT_EQ(first_match("\\w+", " e\u0301_\u203F1\u00B2"), "e\u0301_\u203F1");
  EXPECT_EQ(first_match("\\S+", " ab "), "ab");
  EXPECT_EQ(first_match("\\h+", "xyz0Fg"), "0F");
  EXPECT_EQ(first_match("[\\p{L}&&[^\\p{Han}]]+", "\u4E2Dab\u6587"), "ab");
  EXPECT_EQ(first_match("[a[bc]]+", "xabcd"), "abc");
  EXPECT_EQ(first_match("[]a]+", "x]a"), "]a");
  EXPECT_EQ(first_match("[[:alpha:]]+", "1\u00E9a2"), "\u00E9a");
  EXPECT_EQ(first_match("\\u00e9", "\u00E9"), "\u00E9");
  EXPECT_EQ(first_match("^b$", "a\nb\nc"), "b");
  EXPECT_EQ(first_match("a++b?+", "aab"), "aab");
}

TEST(Regex, RefusesWhatItCannotRead) {
  EXPECT_EQ(first_match("(", ""), "FormatError");
  EXPECT_EQ(first_match("[a", ""), "FormatError");
  EXPECT_EQ(first_match("[^a&&[b]]", ""), "Unsupported");
  EXPECT_EQ(first_match("[a[^b]]", ""), "Unsupported");
}

}  // namespace
}  // namespace realizar::text
