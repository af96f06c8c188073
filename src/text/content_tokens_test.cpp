#include "text/answer.h"

#include <gtest/gtest.h>

#include <utility>

namespace realizar::text {
namespace {

using EventKind = OutputEvent::Kind;

OutputEvent content(std::string text) {
  return {EventKind::kContent, 0, std::move(text)};
}
OutputEvent reasoning(std::string text) {
  return {EventKind::kReasoning, 0, std::move(text)};
}

// Feeds tokens one by one, each with a parser's events for the text so far.
class TokensOfAnAnswer {
 public:
  // The texts of the tokens that become content with it, each followed by a bar.
  std::string push(const std::string& token, const std::vector<OutputEvent>& events) {
    add_part(token);
    n_bytes_ += token.size();
    return joined(content_tokens_.take(token, events));
  }
  std::string finish(const std::vector<OutputEvent>& events) { return joined(content_tokens_.take("", events)); }
  // Adds a token that is only a part of a character.
  void add_part(const std::string& token) {
    content_tokens_.add(static_cast<uint32_t>(tokens_.size()), n_bytes_);
    tokens_.push_back(token);
  }

 private:
  std::string joined(const std::vector<uint32_t>& idxs) const {
    std::string all;
    for (const uint32_t idx : idxs) all += tokens_[idx] + "|";
    return all;
  }

  ContentTokens content_tokens_;
  std::vector<std::string> tokens_;
  size_t n_bytes_ = 0;
};

TEST(ContentTokens, AreAllWhereThereIsNothingElse) {
  TokensOfAnAnswer answer;
  EXPECT_EQ(answer.push("The", {content("The")}), "The|");
  EXPECT_EQ(answer.push(" ", {}), "");
  EXPECT_EQ(answer.push("end", {content(" end")}), " |end|");
  EXPECT_EQ(answer.push(".", {}), "");
  EXPECT_EQ(answer.finish({content(".")}), ".|");
}

TEST(ContentTokens, AreNeitherReasoningNorMarks) {
  TokensOfAnAnswer answer;
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
  TokensOfAnAnswer answer;
  EXPECT_EQ(answer.push("why</think>Be", {reasoning("why"), content("Be")}), "why</think>Be|");
  EXPECT_EQ(answer.push("cause<to", {content("cause")}), "cause<to|");
  EXPECT_EQ(answer.push("y>", {content("<toy>")}), "y>|");
}

TEST(ContentTokens, MayBePartsOfACharacter) {
  TokensOfAnAnswer answer;
  EXPECT_EQ(answer.push("a", {content("a")}), "a|");
  answer.add_part("\xe2");
  answer.add_part("\x82");
  EXPECT_EQ(answer.push("\xac", {content("\xe2\x82\xac")}), "\xe2|\x82|\xac|");
}

// A mark between two pieces was dropped, and the pieces form one event.
TEST(ContentTokens, MayStandAroundAMark) {
  TokensOfAnAnswer answer;
  EXPECT_EQ(answer.push("a<|end|>b", {content("ab")}), "a<|end|>b|");
  EXPECT_EQ(answer.push("c", {content("c")}), "c|");
}

}  // namespace
}  // namespace realizar::text
