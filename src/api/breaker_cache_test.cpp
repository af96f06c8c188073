#include "api/breaker_cache.h"

#include <gtest/gtest.h>

#include "api/loaded_model.h"
#include "base/result_checks.h"
#include "engine/engine.h"
#include "sampling/dry.h"

namespace realizar {
namespace {

class Breakers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    loaded_ = must(LoadedModel::load(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf", {}));
  }
  static void TearDownTestSuite() { loaded_.reset(); }

  static const text::Tokenizer& tokenizer() { return *loaded_->tokenizer; }
  static std::vector<TokenId> encode(const std::string& text) {
    return tokenizer().encode(text, {.add_special = false, .parse_special = true});
  }
  // The text after its last breaker.
  std::string after(const std::vector<std::string>& texts, const std::string& text) {
    const auto tokens = encode(text);
    const auto breakers = must(cache_.of(texts));
    return tokenizer().decode(std::span(tokens).last(n_after_breaker(breakers.get(), tokens)), {.skip_special = false});
  }

  static std::unique_ptr<LoadedModel> loaded_;
  BreakerCache cache_{tokenizer()};
};

std::unique_ptr<LoadedModel> Breakers::loaded_;

TEST_F(Breakers, AreTokensThatHoldTheirText) {
  const auto breakers = must(cache_.of(std::vector<std::string>{"\n", ":"}));
  for (int32_t id = 0; id < tokenizer().n_vocab(); ++id) {
    const std::string bytes = tokenizer().token_bytes(TokenId{id}, {.skip_special = false});
    EXPECT_EQ(has_token(breakers->whole, TokenId{id}), bytes.find_first_of("\n:") != std::string::npos) << bytes;
  }
  EXPECT_TRUE(breakers->rests.empty());
  EXPECT_EQ(after({"\n", ":"}, "first: line\nsecond one"), "second one");
  EXPECT_EQ(after({"\n", ":"}, "nothing here"), "nothing here");
}

// The tokens may split a breaker anywhere.
TEST_F(Breakers, AreFoundWhereTheyAreSeveralTokens) {
  for (const std::string breaker : {"Paris", "of France is", "qqzzkkxx", "<|im_start|>"}) {
    for (const std::string before : {"The capital ", "x", " "}) {
      EXPECT_EQ(after({breaker}, before + breaker + " and then more"), " and then more") << before << breaker;
    }
  }
  EXPECT_EQ(after({"of France is"}, "The capital of France was Lyon"), "The capital of France was Lyon");
  EXPECT_EQ(after({"and"}, "sand and more sands are there"), "s are there");
}

TEST_F(Breakers, AreMadeOnce) {
  EXPECT_EQ(cache_.usual(), cache_.usual());
  EXPECT_EQ(cache_.usual(), *cache_.of(std::vector<std::string>{"\n", ":", "\"", "*"}));
  EXPECT_NE(cache_.usual(), *cache_.of(std::vector<std::string>{"\n"}));
}

TEST_F(Breakers, HaveBounds) {
  const auto wrong = [this](std::vector<std::string> texts) {
    const auto breakers = cache_.of(texts);
    return breakers.ok() ? "" : breakers.error().subject;
  };
  EXPECT_EQ(wrong({}), "");
  EXPECT_EQ(wrong({std::string(40, 'x')}), "");
  EXPECT_EQ(wrong({std::string(41, 'x')}), "dry_sequence_breakers");
  EXPECT_EQ(wrong({""}), "dry_sequence_breakers");
  EXPECT_EQ(wrong(std::vector<std::string>(65, "x")), "dry_sequence_breakers");
}

// A request that names no breakers has the usual ones: without them the answer would differ.
TEST_F(Breakers, AreTheUsualOnesWhereARequestNamesNone) {
  Request request;
  for (int i = 0; i < 6; ++i) {
    const auto line = encode("name: one\nname: two\n");
    request.prompt.insert(request.prompt.end(), line.begin(), line.end());
  }
  request.sampling.temperature = 0;
  request.sampling.dry_multiplier = 50;
  request.sampling.dry_allowed_length = 1;
  request.max_tokens = 30;
  request.ignore_eos = true;
  const auto tokens_with = [&](std::shared_ptr<const SequenceBreakers> breakers) {
    request.sampling.dry_breakers = std::move(breakers);
    return loaded_->engine->generate(request, {}).value().tokens;
  };
  const auto of_default = tokens_with(nullptr);
  EXPECT_EQ(of_default, tokens_with(loaded_->breakers->usual()));
  EXPECT_NE(of_default, tokens_with(*loaded_->breakers->of({})));
}

}  // namespace
}  // namespace realizar
