#include "text/tokenizer/end_tokens.h"

#include <gtest/gtest.h>

#include "text/tokenizer/byte_tokenizer_rig.h"

namespace realizar::text {
namespace {

struct TestClaim {
  std::variant<int64_t, std::string> token;
  std::string source;
  bool is_denial = false;
};

using TestClaims = std::vector<TestClaim>;

constexpr int32_t kFirstAdded = 257;  // the first piece that a test adds

std::vector<int32_t> end_ids(const EndTokens& ends) {
  std::vector<int32_t> ids;
  for (const EndToken& end : ends.ends()) ids.push_back(to_index(end.id));
  return ids;
}

TEST(EndTokens, KnownNamesEndWhateverTheirType) {
  for (const char* piece : {"<|end|>", "<end_of_turn>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|tool_response>",
                            "_<EOT>", "<|calls|>", "<|flush|>", "<|observation|>", "[|endofturn|]"}) {
    const Tokenizer tokenizer = make_byte_tokenizer({piece}, false);
    EXPECT_EQ(end_ids(EndTokens::united(tokenizer, TestClaims())), std::vector<int32_t>{kFirstAdded}) << piece;
  }
}

TEST(EndTokens, MarksOfTextAndOfFillingInAreNoEnds) {
  const Tokenizer tokenizer = make_byte_tokenizer({"</s>", "<|fim_pad|>", "<|fim_middle|>", "<|end", "end|>"}, false);
  EXPECT_TRUE(EndTokens::united(tokenizer, TestClaims()).ends().empty());
}

TEST(EndTokens, AMessagesEndIsNoAnswersEnd) {
  const Tokenizer harmony = make_byte_tokenizer({"<|end|>", "<|return|>", "<|call|>"}, false);
  const EndTokens ends = EndTokens::united(harmony, TestClaims{{int64_t{kFirstAdded}, "key"}});
  EXPECT_EQ(end_ids(ends), (std::vector<int32_t>{kFirstAdded + 1, kFirstAdded + 2}));
  ASSERT_EQ(ends.notes().size(), 1u);
  EXPECT_TRUE(ends.notes()[0].starts_with("key: "));
  const Tokenizer solar = make_byte_tokenizer({"<|end|>", "<|flush|>", "<|calls|>"}, false);
  EXPECT_EQ(end_ids(EndTokens::united(solar, TestClaims())).size(), 2u);
}

TEST(EndTokens, UnitesClaimsAndNamesWithTheirSources) {
  const Tokenizer tokenizer = make_byte_tokenizer({"<|im_end|>", "stop"}, false);
  const TestClaims claims = {{std::string("stop"), "a"}, {int64_t{kFirstAdded}, "b"}, {int64_t{kFirstAdded + 1}, "c"}};
  const EndTokens ends = EndTokens::united(tokenizer, claims);
  ASSERT_EQ(end_ids(ends), (std::vector<int32_t>{kFirstAdded + 1, kFirstAdded}));
  EXPECT_EQ(ends.ends()[0].sources, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(ends.ends()[1].sources, (std::vector<std::string>{"b", "its name"}));
}

TEST(EndTokens, WhatIsNoTokenIsLeftOutWithANote) {
  const Tokenizer tokenizer = make_byte_tokenizer({}, false);
  const TestClaims claims = {{int64_t{-1}, "a"}, {int64_t{257}, "b"}, {std::string("<|no|>"), "c"}};
  const EndTokens ends = EndTokens::united(tokenizer, claims);
  EXPECT_TRUE(ends.ends().empty());
  ASSERT_EQ(ends.notes().size(), 3u);
  EXPECT_EQ(ends.notes()[1], "b: the end token 257 is left out: the vocabulary has 257 tokens");
}

TEST(EndTokens, DenialsGoBeforeClaimsAndNames) {
  const Tokenizer tokenizer = make_byte_tokenizer({"<|im_end|>"}, false);
  const TestClaims claims = {{int64_t{kFirstAdded}, "a", true}, {int64_t{kFirstAdded}, "b"}, {int64_t{5}, "c"}};
  EXPECT_EQ(end_ids(EndTokens::united(tokenizer, claims)), std::vector<int32_t>{5});
}

TEST(EndTokens, AUserAddsAndTakesOut) {
  const Tokenizer tokenizer = make_byte_tokenizer({"<|im_end|>", "stop"}, false);
  EndTokens ends = EndTokens::united(tokenizer, TestClaims());
  EXPECT_TRUE(ends.add("stop", "ends").ok());
  EXPECT_TRUE(ends.remove("<|im_end|>", "no_ends").ok());
  EXPECT_EQ(end_ids(ends), std::vector<int32_t>{kFirstAdded + 1});
  EXPECT_TRUE(ends.notes().empty());
  EXPECT_TRUE(ends.remove("<|im_end|>", "no_ends").ok());
  EXPECT_EQ(ends.notes().size(), 1u);
  for (const Status& status : {ends.add("<|no|>", "ends"), ends.remove("<|no|>", "ends")}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "ends: expected a token of the model's vocabulary, actual '<|no|>'");
    EXPECT_EQ(status.error().subject, "ends");
  }
}

}  // namespace
}  // namespace realizar::text
