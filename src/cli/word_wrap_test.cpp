#include "cli/answer_view.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/output.h"
#include "text/utf8.h"

namespace realizar::cli {
namespace {

// The content of a wide terminal after the sequences written by WordWrap, for characters of one column.
std::string shown(const std::string& written) {
  std::string screen;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '\033') {
      screen += written[i];
      continue;
    }
    size_t n = 0;
    for (i += 2; written[i] >= '0' && written[i] <= '9'; ++i) n = 10 * n + static_cast<size_t>(written[i] - '0');
    if (written[i] == 'D') screen.resize(screen.size() - n);
  }
  return screen;
}

std::string wrapped(uint32_t n_columns, const std::vector<std::string>& pieces) {
  WordWrap wrap(n_columns);
  std::string written;
  for (const std::string& piece : pieces) written += wrap.push(piece);
  return shown(written);
}

TEST(WordWrap, BreaksBetweenWordsHoweverTheTextArrives) {
  EXPECT_EQ(wrapped(10, {"how much would a woodchuck chuck"}), "how much \nwould a \nwoodchuck \nchuck");
  EXPECT_EQ(wrapped(10, {"how mu", "ch wo", "uld a wood", "chu", "ck chuck"}),
            "how much \nwould a \nwoodchuck \nchuck");
}

TEST(WordWrap, ShowsWhatIsKnownOfAWordAtOnce) {
  WordWrap wrap(10);
  EXPECT_EQ(wrap.push("how much "), "how much ");
  EXPECT_EQ(wrap.push("w"), "w");
  EXPECT_EQ(wrap.push("o"), "\033[1D\033[K\nwo");
}

TEST(WordWrap, BreaksWithinAWordThatIsLongerThanALine) {
  EXPECT_EQ(wrapped(4, {"abcdefghij"}), "abcd\nefgh\nij");
  EXPECT_EQ(wrapped(4, {"a bcdefghij"}), "a \nbcde\nfghi\nj");
}

TEST(WordWrap, KeepsTheTextsOwnLines) {
  EXPECT_EQ(wrapped(10, {"one\ntwo\n\nthree four"}), "one\ntwo\n\nthree four");
  EXPECT_EQ(wrapped(10, {"a\tb\tc"}), "a\tb\nc");
}

TEST(WordWrap, ASpaceAtTheEdgeBeginsTheLine) {
  EXPECT_EQ(wrapped(4, {"abcd efgh"}), "abcd\nefgh");
}

TEST(WordWrap, CountsColumnsAndNotBytes) {
  use_utf8_locale();
  EXPECT_EQ(wrapped(4, {"ääää öö"}), "ääää\nöö");
  EXPECT_EQ(wrapped(5, {"日本語"}), "日本\n語");
}

TEST(WordWrap, BreaksNothingWithoutAWidth) {
  EXPECT_EQ(wrapped(0, {"how much wood"}), "how much wood");
}

}  // namespace
}  // namespace realizar::cli
