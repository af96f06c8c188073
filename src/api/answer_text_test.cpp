#include "api/answer_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/text_assets.h"
#include "formats/model_file.h"

namespace realizar {
namespace {

constexpr const char* kTemplate = "{{ '<think>' }}{{ message.content }}";

class TextOfAnAnswer : public testing::Test {
 protected:
  // What is said of an answer that `written` spells out, token by token.
  TextGeneration read(const std::string& written, const TextOptions& options, const std::string& prompt = "Hi") {
    const auto ids = [this](const std::string& text) { return tokenizer_.encode(text, {.add_special = false}); };
    AnswerText answer(tokenizer_, kTemplate, ids(prompt), options);
    TextGeneration result{};
    const auto add = [&result](const std::vector<AnswerText::Piece>& pieces) {
      for (const auto& piece : pieces) (piece.is_reasoning ? result.reasoning : result.text) += piece.text;
    };
    for (const TokenId id : ids(written)) {
      add(answer.push(id));
      if (answer.is_stopped()) break;
    }
    add(answer.finish());
    return result;
  }

  text::Tokenizer tokenizer_ =
      load_tokenizer(*ModelFile::open(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf")).value();
};

TEST_F(TextOfAnAnswer, IsToldFromItsReasoningWhereThatIsAskedFor) {
  const std::string written = "<think>\nFrance, so Paris.\n</think>\n\nIt is Paris.";
  const auto split = read(written, {.split_reasoning = true});
  EXPECT_EQ(split.reasoning, "France, so Paris.");
  EXPECT_EQ(split.text, "It is Paris.");
  const auto whole = read(written, {});
  EXPECT_EQ(whole.reasoning, "");
  EXPECT_EQ(whole.text, written);
}

TEST_F(TextOfAnAnswer, BeginsInReasoningWhereThePromptOpensIt) {
  const auto split = read("France, so Paris.</think>It is Paris.", {.split_reasoning = true}, "user Hi <think>\n");
  EXPECT_EQ(split.reasoning, "France, so Paris.");
  EXPECT_EQ(split.text, "It is Paris.");
}

TEST_F(TextOfAnAnswer, KeepsWhatIsHeldBackUntilItsEnd) {
  EXPECT_EQ(read("<think>cut off </th", {.split_reasoning = true}).reasoning, "cut off </th");
  EXPECT_EQ(read("a < b\n", {.split_reasoning = true}).text, "a < b\n");
}

TEST_F(TextOfAnAnswer, EndsBeforeAStopStringWithAllThatStandsBeforeIt) {
  const auto split = read("<think>one</think>two STOP three", {.stop = {" STOP"}, .split_reasoning = true});
  EXPECT_EQ(split.reasoning, "one");
  EXPECT_EQ(split.text, "two");
}

}  // namespace
}  // namespace realizar
