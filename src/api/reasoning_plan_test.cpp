#include "api/reasoning_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "api/obedient_model_rig.h"
#include "text/output/formats/format.h"
#include "text/tokenizer/byte_tokenizer_rig.h"

namespace realizar {
namespace {

const text::OutputFormat kTags{.reasoning = text::TagPair{"<think>", "</think>"}};

class ReasoningBudgetTest : public ::testing::Test {
 protected:
  std::string write(std::string_view wanted, ReasoningBudget budget) const {
    return written(tokenizer_, *with_reasoning_budget(nullptr, kTags, tokenizer_, budget), wanted);
  }
  text::Tokenizer tokenizer_ = text::make_byte_tokenizer({"</think>"}, false);
};

TEST_F(ReasoningBudgetTest, ForcesTheEndMarkAfterItsTokens) {
  EXPECT_EQ(write("abcdef", {3, true}), "abc[</think>]def");
  EXPECT_EQ(write("abcdef", {0, true}), "[</think>]abcdef");
  EXPECT_EQ(write("abc", {4, true}), "abc");
}

TEST_F(ReasoningBudgetTest, CountsFromWhereTheModelOpensReasoning) {
  EXPECT_EQ(write("<think>abcdef", {3, false}), "<think>abc[</think>]def");
  EXPECT_EQ(write(" \n<think>abcdef", {0, false}), " \n<think>[</think>]abcdef");
}

TEST_F(ReasoningBudgetTest, LeavesReasoningThatEndsByItself) {
  EXPECT_EQ(write("a</think>bcdefghijklmnop", {9, true}), "a</think>bcdefghijklmnop");
  EXPECT_EQ(write("a</think>bcdefghijklmnop", {10, true}), "a</think>bcdefghijklmnop");
}

TEST_F(ReasoningBudgetTest, TagsAfterTheFirstWordOpenNothing) {
  EXPECT_EQ(write("a<think>bcdefg", {2, false}), "a<think>bcdefg");
  EXPECT_EQ(write("<thin>bcdefg", {2, false}), "<thin>bcdefg");
}

// For a model that has no single token for the mark.
TEST_F(ReasoningBudgetTest, AMarkThatTheModelHasBegunIsCompleted) {
  const text::Tokenizer bytes = text::make_byte_tokenizer({}, false);
  const auto constraint = with_reasoning_budget(nullptr, kTags, bytes, {5, true});
  EXPECT_EQ(written(bytes, *constraint, "abc</de"), "abc</[t][h][i][n][k][>]de");
}

TEST_F(ReasoningBudgetTest, ACloneCountsForItself) {
  const auto first = with_reasoning_budget(nullptr, kTags, tokenizer_, {3, true});
  EXPECT_EQ(written(tokenizer_, *first, "ab"), "ab");
  const auto second = first->clone();
  EXPECT_EQ(written(tokenizer_, *second, "cd"), "c[</think>]d");
  EXPECT_EQ(written(tokenizer_, *first, "xy"), "x[</think>]y");
}

TEST_F(ReasoningBudgetTest, IsNothingWhereTheFormatMarksNoReasoning) {
  EXPECT_EQ(with_reasoning_budget(nullptr, {}, tokenizer_, {3, true}), nullptr);
}

// Counts the tokens that it sees, and allows only one.
class OnlyX final : public TokenConstraint {
 public:
  bool allow(std::span<uint64_t> allowed) override {
    std::fill(allowed.begin(), allowed.end(), uint64_t{0});
    const auto x = static_cast<size_t>(to_index(text::byte_token('x')));
    allowed[x / 64] = uint64_t{1} << (x % 64);
    return true;
  }
  void accept(TokenId) override { ++n_accepted; }
  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<OnlyX>(*this); }
  int n_accepted = 0;
};

TEST_F(ReasoningBudgetTest, ForcesWhatTheInnerConstraintForbidsAndTellsItOfAll) {
  const auto inner = std::make_shared<OnlyX>();
  const auto constraint = with_reasoning_budget(inner, kTags, tokenizer_, {2, true});
  for (const TokenId id : {text::byte_token('x'), text::byte_token('x'), *tokenizer_.find("</think>")}) {
    EXPECT_EQ(forced_by(*constraint, tokenizer_.n_vocab()), id);
    constraint->accept(id);
  }
  EXPECT_EQ(forced_by(*constraint, tokenizer_.n_vocab()), text::byte_token('x'));
  EXPECT_EQ(inner->n_accepted, 3);
}

// gpt-oss: the message ends, and the next one's header begins, which does not start another analysis.
TEST_F(ReasoningBudgetTest, ClosesAChannelAndKeepsItClosed) {
  const text::Tokenizer tokenizer = text::make_byte_tokenizer({"analysis"}, false);
  const auto constraint = with_reasoning_budget(nullptr, text::gpt_oss_format().format, tokenizer, {2, false});
  std::string expected = "<|channel|>analysis<|message|>ab";
  for (const char c : std::string("<|end|><|start|>assistant<|channel|>")) expected += std::string("[") + c + "]";
  EXPECT_EQ(written(tokenizer, *constraint, "<|channel|>analysis<|message|>ab"), expected);
  std::vector<uint64_t> words((static_cast<size_t>(tokenizer.n_vocab()) + 63) / 64);
  ASSERT_TRUE(constraint->allow(words));
  const auto analysis = static_cast<size_t>(to_index(*tokenizer.find("analysis")));
  EXPECT_EQ(words[analysis / 64] >> (analysis % 64) & 1, 0u);
  EXPECT_EQ(written(tokenizer, *constraint, "final<|message|>cdefg"), "final<|message|>cdefg");
}

}  // namespace
}  // namespace realizar
