#include "base/printable.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace realizar {
namespace {

using namespace std::string_literals;

TEST(Printable, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b]0;owned\x07\x1b[2J"), "\\x1b]0;owned\\x07\\x1b[2J");
  EXPECT_EQ(printable("a\nb\rc\td\0e\x7f"s), "a\\nb\\rc\\td\\x00e\\x7f");
  EXPECT_EQ(printable("\u009b31m\u0080\u009f"), "\\u{9b}31m\\u{80}\\u{9f}") << "C1";
  EXPECT_EQ(printable("\u202egpj.exe\u2066\u200f"), "\\u{202e}gpj.exe\\u{2066}\\u{200f}");
}

TEST(Printable, LeavesTextAsItIs) {
  const std::string text = "plain, wörld, \u00a0, 中文, 🙂, \\x1b, ~";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("a\nb\tc\x1b", Lines::kMany), "a\nb\tc\\x1b");
}

TEST(Printable, SpellsOutBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("\x9b[2J"), "\\x9b[2J") << "C1 as one byte";
  EXPECT_EQ(printable("\xff\xc0\x80\xe2\x82"), "\\xff\\xc0\\x80\\xe2\\x82");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

std::string utf8_of(uint32_t code) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  const auto tail = [&](uint32_t shift) { return byte(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000) return {byte(0xe0 | code >> 12), tail(6), tail(0)};
  return {byte(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

// The chat page's test reads the same lines as text and checks the page for all characters in the same way.
TEST(Printable, SpellsOutTheCharactersOfTheTableAndNoOthers) {
  std::vector<bool> is_unseen(0x110000), is_unseen_in_prose(0x110000);
#define IN_PROSE(first, last) \
  for (uint32_t code = first; code <= last; ++code) is_unseen[code] = true;
#define UNSEEN(first, last) \
  for (uint32_t code = first; code <= last; ++code) is_unseen[code] = is_unseen_in_prose[code] = true;
#include "base/unseen_chars.txt"
#undef IN_PROSE
#undef UNSEEN
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;  // surrogates are not valid in UTF-8
    const std::string text = utf8_of(code);
    const bool is_line = code == '\n' || code == '\t';
    ASSERT_EQ(printable(text) != text, is_unseen[code]) << std::hex << code;
    ASSERT_EQ(printable(text, Lines::kMany) != text, is_unseen[code] && !is_line) << std::hex << code;
    ASSERT_EQ(printable_prose(text) != text, is_unseen_in_prose[code] && !is_line) << std::hex << code;
  }
}

TEST(Printable, HidesNothingFromWhoAllowsACall) {
  EXPECT_EQ(printable("Paris\U000e006b\U000e0065\U000e0079"), "Paris\\u{e006b}\\u{e0065}\\u{e0079}");
  EXPECT_EQ(printable("a\u200b\u00ad\ufe0f\U000e0100\u3164\u115f\u2800b"),
            "a\\u{200b}\\u{ad}\\u{fe0f}\\u{e0100}\\u{3164}\\u{115f}\\u{2800}b");
}

TEST(Printable, ProseKeepsItsEmojiAndItsScripts) {
  const std::string prose =
      "\u2764\ufe0f \U0001f469\u200d\U0001f680 1\ufe0f\u20e3 "
      "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f "
      "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 sin\u2061x\n\tend";
  EXPECT_EQ(printable_prose(prose), prose);
  EXPECT_EQ(printable_prose("\x1b[31m\u202egpj\u3164\ufeff\xff"), "\\x1b[31m\\u{202e}gpj\\u{3164}\\u{feff}\\xff");
}

TEST(Printable, CutsWhatIsLongBetweenCharacters) {
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown(std::string(5000, 'x')), std::string(100, 'x') + "... (5000 bytes)");
  EXPECT_EQ(shown("ab\u00e4cd", 3), "ab... (6 bytes)");
  EXPECT_EQ(shown("ab\u00e4cd", 4), "ab\u00e4... (6 bytes)");
}

}  // namespace
}  // namespace realizar
