#include "server/call/choice.h"

#include <gtest/gtest.h>

#include <string_view>

namespace realizar::server {
namespace {

// The text that remains when it arrives in pieces of `n_bytes`.
std::string left_of(std::string_view text, LineRules rules, size_t n_bytes) {
  LineWatch watch(rules);
  std::string left;
  for (size_t i = 0; i < text.size(); i += n_bytes) left += watch.take(std::string(text.substr(i, n_bytes)));
  return left + watch.finish();
}

TEST(LineWatch, EndsAtALineWithTooLittleIndentation) {
  constexpr std::string_view kCode = "a {\n  b;\n \tc;\n d;\n  e";
  for (const size_t n_bytes : {1u, 2u, 3u, 100u}) {
    EXPECT_EQ(left_of(kCode, {.n_indent = 0}, n_bytes), kCode) << n_bytes;
    EXPECT_EQ(left_of(kCode, {.n_indent = 1}, n_bytes), kCode) << n_bytes;
    EXPECT_EQ(left_of(kCode, {.n_indent = 2}, n_bytes), "a {\n  b;\n \tc;") << n_bytes;
    EXPECT_EQ(left_of(kCode, {.n_indent = 3}, n_bytes), "a {") << n_bytes;
    EXPECT_EQ(left_of("a\n\n  b", {.n_indent = 2}, n_bytes), "a") << n_bytes;
    EXPECT_EQ(left_of("a\n ", {.n_indent = 2}, n_bytes), "a\n ") << "a line that has not begun yet";
  }
}

TEST(LineWatch, EndsLateAnswersOnceALineIsComplete) {
  LineWatch watch({.max_ms = 10});
  watch.note_time(11);
  EXPECT_FALSE(watch.is_over()) << "the first line is never cut";
  EXPECT_EQ(watch.take("a\nb"), "a\nb");
  watch.note_time(10);
  EXPECT_FALSE(watch.is_over());
  watch.note_time(10.5);
  EXPECT_TRUE(watch.is_over());
  EXPECT_EQ(watch.take("c"), "");
  EXPECT_EQ(watch.finish(), "");
}

}  // namespace
}  // namespace realizar::server
