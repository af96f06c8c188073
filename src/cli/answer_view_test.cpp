#include "cli/answer_view.h"

#include <gtest/gtest.h>

namespace realizar::cli {
namespace {

TEST(AnswerView, MarksReasoningWhereThereAreNoStyles) {
  AnswerView view({});
  EXPECT_EQ(view.show("hm", true), "<think>\nhm");
  EXPECT_EQ(view.show("m", true), "m");
  EXPECT_EQ(view.show("Paris.", false), "\n</think>\n\nParis.");
  EXPECT_EQ(view.end(), "");
}

TEST(AnswerView, DimsReasoningOnATerminal) {
  AnswerView view({.shows_styles = true});
  EXPECT_EQ(view.show("hmm", true), "\033[2mhmm");
  EXPECT_EQ(view.show("Paris.", false), "\033[0m\n\nParis.");
}

TEST(AnswerView, HidesReasoning) {
  AnswerView view({.hides_reasoning = true, .shows_styles = true});
  EXPECT_EQ(view.show("hmm", true), "");
  EXPECT_EQ(view.show("Paris.", false), "Paris.");
  EXPECT_EQ(view.end(), "");
}

TEST(AnswerView, ClosesReasoningThatIsCutOff) {
  AnswerView plain({}), styled({.shows_styles = true});
  plain.show("hm", true);
  styled.show("hm", true);
  EXPECT_EQ(plain.end(), "\n</think>");
  EXPECT_EQ(styled.end(), "\033[0m");
}

TEST(AnswerView, SpellsOutWhatATerminalWouldObey) {
  AnswerView terminal({.spells_controls = true}), file({});
  EXPECT_EQ(terminal.show("a\033[2Jb\n", false), "a\\x1b[2Jb\n");
  EXPECT_EQ(file.show("a\033[2Jb\n", false), "a\033[2Jb\n");
  EXPECT_EQ(terminal.show("\u202e\u2764\ufe0f", false), "\\u{202e}\u2764\ufe0f") << "emoji stay";
}

}  // namespace
}  // namespace realizar::cli
