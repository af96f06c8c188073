#include "base/printable.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(Printable, CutsWhatIsLongBetweenCharacters) {
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown(std::string(5000, 'x')), std::string(100, 'x') + "... (5000 bytes)");
  EXPECT_EQ(shown("ab\u00e4cd", 3), "ab... (6 bytes)");
  EXPECT_EQ(shown("ab\u00e4cd", 4), "ab\u00e4... (6 bytes)");
}

}  // namespace
}  // namespace realizar
