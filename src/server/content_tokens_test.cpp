#include "server/content_tokens.h"

#include <gtest/gtest.h>

#include <utility>

namespace realizar::server {
namespace {

using text::OutputEvent;
using EventKind = OutputEvent::Kind;

OutputEvent content(std::string text) {
  return {EventKind::kContent, 0, std::move(text)};
}
OutputEvent reasoning(std::string text) {
  return {EventKind::kReasoning, 0, std::move(text)};
}

// Tokens that come one by one, each with what a parser makes of the text so far.
class Answer {
 public:
  // The texts of the tokens that are content with it, each with a bar after it.
  std::string push(const std::string& token, const std::vector<OutputEvent>& events) {
    tokens_.add({TokenId{0}, token, 0, {}}, n_bytes_);
    n_bytes_ += token.size();
    return joined(tokens_.take(token, events));
  }
  std::string finish(const std::vector<OutputEvent>& events) { return joined(tokens_.take("", events)); }
  // A token that is only a part of a character.
  void add_part(const std::string& token) { tokens_.add({TokenId{0}, token, 0, {}}, n_bytes_); }

 private:
  static std::string joined(const std::vector<TokenInfo>& infos) {
    std::string all;
    for (const TokenInfo& info : infos) all += info.bytes + "|";
    return all;
  }

  ContentTokens tokens_;
  size_t n_bytes_ = 0;
};

TEST(ContentTokens, AreAllWhereThereIsNothingElse) {
  Answer answer;
  EXPECT_EQ(answer.push("The", {content("The")}), "The|");
  EXPECT_EQ(answer.push(" ", {}), "");
  EXPECT_EQ(answer.push("end", {content(" end")}), " |end|");
  EXPECT_EQ(answer.push(".", {}), "");
  EXPECT_EQ(answer.finish({content(".")}), ".|");
}

TEST(ContentTokens, AreNeitherReasoningNorMarks) {
  Answer answer;
  EXPECT_EQ(answer.push("<think>", {}), "");
  EXPECT_EQ(answer.push("so so", {reasoning("so so")}), "");
  EXPECT_EQ(answer.push(" it", {reasoning(" it")}), "");
  EXPECT_EQ(answer.push("</think>", {}), "");
  EXPECT_EQ(answer.push("\n\n", {}), "");
  EXPECT_EQ(answer.push("so", {content("so")}), "so|");
  EXPECT_EQ(answer.push("<tool_call>", {}), "");
  EXPECT_EQ(answer.push("{so}", {{EventKind::kToolCallBegin, 0, "so"}, {EventKind::kToolCallArguments, 0, "{}"}}), "");
  EXPECT_EQ(answer.push("</tool_call>", {{EventKind::kToolCallEnd, 0, ""}}), "");
  EXPECT_EQ(answer.push("so", {content("so")}), "so|");
  EXPECT_EQ(answer.finish({}), "");
}

TEST(ContentTokens, MayHaveAPartInAMark) {
  Answer answer;
  EXPECT_EQ(answer.push("why</think>Be", {reasoning("why"), content("Be")}), "why</think>Be|");
  EXPECT_EQ(answer.push("cause<to", {content("cause")}), "cause<to|");
  EXPECT_EQ(answer.push("y>", {content("<toy>")}), "y>|");
}

TEST(ContentTokens, MayBePartsOfACharacter) {
  Answer answer;
  EXPECT_EQ(answer.push("a", {content("a")}), "a|");
  answer.add_part("\xe2");
  answer.add_part("\x82");
  EXPECT_EQ(answer.push("\xac", {content("\xe2\x82\xac")}), "\xe2|\x82|\xac|");
}

// A mark between two pieces was dropped, and the pieces are one event.
TEST(ContentTokens, MayStandAroundAMark) {
  Answer answer;
  EXPECT_EQ(answer.push("a<|end|>b", {content("ab")}), "a<|end|>b|");
  EXPECT_EQ(answer.push("c", {content("c")}), "c|");
}

}  // namespace
}  // namespace realizar::server
