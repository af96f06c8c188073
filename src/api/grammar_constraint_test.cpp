#include "api/grammar_constraint.h"

#include <gtest/gtest.h>

#include <string>

#include "api/grammar_cache.h"
#include "api/obedient_model_rig.h"
#include "api/reasoning_plan.h"
#include "text/output/formats/format.h"
#include "text/tokenizer/byte_tokenizer_rig.h"

namespace realizar {
namespace {

const text::OutputFormat kThinkTags{.reasoning = text::TagPair{"<think>", "</think>"}};
const text::OutputFormat kChannels = text::gpt_oss_format().format;

class GrammarConstraintTest : public ::testing::Test {
 protected:
  std::shared_ptr<TokenConstraint> make(const std::string& gbnf, const text::GrammarStart& start) {
    return make_constraint(grammars_.from_gbnf(gbnf).value(), tokenizer_, ends_, start);
  }
  std::shared_ptr<TokenConstraint> yes(const text::OutputFormat& format, bool in_reasoning) {
    return make("root ::= \"yes\"", text::grammar_start(format, in_reasoning));
  }
  // The text of a model that wants to write `wanted` and then end its turn.
  std::string write(TokenConstraint& constraint, std::string_view wanted) const {
    return written(tokenizer_, constraint, wanted, ends_[0]);
  }

  text::Tokenizer tokenizer_ = text::make_byte_tokenizer({"<eos>", "<|call|>", "<think>", "</think>"}, false);
  GrammarCache grammars_{tokenizer_, {}};
  const std::vector<TokenId> ends_{*tokenizer_.find("<eos>"), *tokenizer_.find("<|call|>")};
};

TEST_F(GrammarConstraintTest, AnEndWithinReasoningClosesIt) {
  EXPECT_EQ(write(*yes(kThinkTags, true), "hm"), "hm[</think>][y][e][s]");
  EXPECT_EQ(write(*yes(kThinkTags, true), ""), "[</think>][y][e][s]");
  EXPECT_EQ(write(*yes(kThinkTags, false), "<think>hm"), "<think>hm[</think>][y][e][s]");
}

TEST_F(GrammarConstraintTest, ReasoningThatIsClosedIsFollowedByTheGrammar) {
  EXPECT_EQ(write(*yes(kThinkTags, true), "hm</think>"), "hm</think>[y][e][s]");
  EXPECT_EQ(write(*yes({}, false), ""), "[y][e][s]");
}

TEST_F(GrammarConstraintTest, AMarkOfSeveralTokensIsCompleted) {
  const text::OutputFormat spelled{.reasoning = text::TagPair{"<thought>", "</thought>"}};
  EXPECT_EQ(write(*yes(spelled, true), "hm</th"), "hm</th[o][u][g][h][t][>][y][e][s]");
}

TEST_F(GrammarConstraintTest, AGrammarThatNothingFulfilsAsksForNoMore) {
  EXPECT_EQ(write(*make("root ::= [a-z]*", text::grammar_start(kThinkTags, true)), "hm"), "hm");
}

// A client's own stop token ends the text anywhere.
TEST_F(GrammarConstraintTest, OtherTokensThanTheModelsEndsEndTheText) {
  const auto constraint = yes(kThinkTags, true);
  EXPECT_FALSE(constraint->refuse_end(text::byte_token('x')));
  EXPECT_EQ(write(*constraint, "hm"), "hm[</think>][y][e][s]");
}

std::string in_brackets(std::string_view text) {
  std::string all;
  for (const char c : text) all += std::string("[") + c + "]";
  return all;
}

TEST_F(GrammarConstraintTest, ATurnThatEndsInAChannelGoesOnWithTheAnswer) {
  const std::string thoughts = "<|channel|>analysis<|message|>hm";
  const std::string answer = in_brackets("<|start|>assistant<|channel|>final<|message|>yes");
  EXPECT_EQ(write(*yes(kChannels, false), thoughts), thoughts + in_brackets("<|end|>") + answer);
  EXPECT_EQ(write(*yes(kChannels, true), "hm"), "hm" + in_brackets("<|end|>") + answer);
  EXPECT_EQ(write(*yes(kChannels, false), thoughts + "<|end|>"), thoughts + "<|end|>" + answer);
  EXPECT_EQ(write(*yes(kChannels, false), thoughts + "<|end|><|start|>assistant<|channel|>final<|message|>"),
            thoughts + "<|end|><|start|>assistant<|channel|>final<|message|>" + in_brackets("yes"));
}

TEST_F(GrammarConstraintTest, ACallInAChannelNeedsNoAnswer) {
  const auto constraint = yes(kChannels, false);
  const std::string call = "<|channel|>commentary to=functions.f<|message|>{}";
  EXPECT_EQ(written(tokenizer_, *constraint, call, ends_[1]), call);
}

TEST_F(GrammarConstraintTest, ACloneEndsForItself) {
  const auto first = yes(kThinkTags, true);
  EXPECT_TRUE(first->refuse_end(ends_[0]));
  const auto second = first->clone();
  EXPECT_EQ(write(*second, ""), "[</think>][y][e][s]");
  EXPECT_EQ(write(*first, ""), "[</think>][y][e][s]");
}

TEST_F(GrammarConstraintTest, ABudgetCountsNoMoreOnceAnEndHasClosedTheReasoning) {
  for (const uint32_t n_tokens : {2u, 3u, 4u, 9u}) {
    const auto tags = with_reasoning_budget(yes(kThinkTags, true), kThinkTags, tokenizer_, {n_tokens, true});
    EXPECT_EQ(write(*tags, "hm"), "hm[</think>][y][e][s]") << n_tokens;
    const auto channels = with_reasoning_budget(yes(kChannels, true), kChannels, tokenizer_, {n_tokens, true});
    EXPECT_EQ(write(*channels, "hm"), "hm" + in_brackets("<|end|><|start|>assistant<|channel|>final<|message|>yes"))
        << n_tokens;
  }
}

}  // namespace
}  // namespace realizar
