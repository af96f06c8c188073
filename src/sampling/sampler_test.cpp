#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "sampling/philox.h"

namespace realizar {
namespace {

SamplingParams neutral() {
  SamplingParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  return params;
}

// How often each token is drawn over many positions.
std::map<int, double> shares(const SamplingParams& params, std::span<const float> logits, int n_draws = 20000) {
  Sampler sampler(static_cast<uint32_t>(logits.size()));
  std::vector<TokenId> history;
  std::map<int, double> share;
  for (int i = 0; i < n_draws; ++i) {
    history.push_back(TokenId{0});
    share[to_index(sampler.sample(params, logits, history))] += 1.0 / n_draws;
  }
  return share;
}

std::set<int> tokens_drawn(const SamplingParams& params, std::span<const float> logits) {
  std::set<int> tokens;
  for (const auto& [token, share] : shares(params, logits)) tokens.insert(token);
  return tokens;
}

const std::vector<float> kLogits = {std::log(0.5f), std::log(0.05f), std::log(0.3f), std::log(0.15f)};

TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Sampler, DrawsInProportionToTheProbabilities) {
  const auto share = shares(neutral(), kLogits);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(share.at(i), std::exp(kLogits[static_cast<size_t>(i)]), 0.012) << i;
}

TEST(Sampler, TellsWhatItHasDrawnFrom) {
  Sampler sampler(4);
  std::vector<SamplingParams> chains(5, neutral());
  chains[1].top_k = 2;
  chains[2].top_p = 0.7f;
  chains[3].temperature = 0;
  chains[4].min_p = 0.2f;
  chains[4].repeat_penalty = 1.3f;
  for (const SamplingParams& params : chains) {
    const std::vector<TokenId> history(7, TokenId{0});
    const TokenId id = sampler.sample_and_keep(params, kLogits, history);
    EXPECT_EQ(id, sampler.sample(params, kLogits, history)) << "keeping changes no token";
    ASSERT_EQ(sampler.sample_and_keep(params, kLogits, history), id);
    const float own = sampler.drawn_logprob(id);
    double sum = 0, share = 0;
    for (const TokenLogprob& token : sampler.drawn_from(4)) {
      sum += std::exp(token.logprob);
      if (token.id == id) share = std::exp(token.logprob);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NEAR(share, std::exp(own), 1e-6);
    ASSERT_EQ(sampler.sample_and_keep(params, kLogits, history), id);
    EXPECT_LE(sampler.drawn_from(1).size(), 1u);
  }
  ASSERT_NE(sampler.sample_and_keep(chains[1], kLogits, std::vector<TokenId>(3)), kNoToken);
  const auto drawn = sampler.drawn_from(4);
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_NEAR(std::exp(drawn[0].logprob), 0.5 / 0.8, 1e-6);
  EXPECT_EQ(sampler.drawn_logprob(TokenId{1}), -INFINITY) << "which top-k has dropped";
}

TEST(Sampler, TemperatureSharpens) {
  auto params = neutral();
  params.temperature = 0.5f;
  // p^2, normalized
  EXPECT_NEAR(shares(params, kLogits).at(0), 0.25 / (0.25 + 0.0025 + 0.09 + 0.0225), 0.012);
}

TEST(Sampler, GreedyTakesTheLikeliestAndOfEqualsTheLowestId) {
  auto params = neutral();
  const std::vector<float> ties = {1, 3, 3, 2};
  for (const auto& [temperature, top_k] : {std::pair{0.0f, 0}, {1.0f, 1}}) {
    params.temperature = temperature;
    params.top_k = top_k;
    EXPECT_EQ(tokens_drawn(params, ties), std::set{1});
  }
}

TEST(Sampler, TopKTopPMinPAndTypicalKeepWhatTheyDefine) {
  auto params = neutral();
  params.top_k = 2;
  EXPECT_EQ(tokens_drawn(params, kLogits), (std::set{0, 2}));
  params = neutral();
  params.top_p = 0.79f;
  EXPECT_EQ(tokens_drawn(params, kLogits), (std::set{0, 2}));
  params.top_p = 0.81f;
  EXPECT_EQ(tokens_drawn(params, kLogits), (std::set{0, 2, 3}));
  params.top_p = 0;
  EXPECT_EQ(tokens_drawn(params, kLogits), std::set{0});
  params = neutral();
  params.min_p = 0.31f;  // relative to 0.5: 0.155
  EXPECT_EQ(tokens_drawn(params, kLogits), (std::set{0, 2}));
  params = neutral();
  // Entropy 1.14 nats; the surprise of 0.3 (1.20) is nearest, then that of 0.5 (0.69).
  params.typical_p = 0;
  EXPECT_EQ(tokens_drawn(params, kLogits), std::set{2});
  params.typical_p = 0.29f;
  EXPECT_EQ(tokens_drawn(params, kLogits), std::set{2});
  params.typical_p = 0.31f;
  EXPECT_EQ(tokens_drawn(params, kLogits), (std::set{0, 2}));
}

TEST(Sampler, WithoutTopKTheSameTokensAreDrawnAsFromAllSorted) {
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(5000);
  for (float& logit : logits) logit = normal(engine);
  Sampler sampler(5000);
  for (const auto& [top_p, min_p, typical_p] : {std::tuple{0.9f, 0.0f, 1.0f},
                                                {0.999f, 0.0f, 1.0f},
                                                {1.0f, 0.02f, 1.0f},
                                                {0.95f, 0.001f, 1.0f},
                                                {0.9f, 0.0f, 0.8f}}) {
    auto params = neutral();
    params.top_p = top_p;
    params.min_p = min_p;
    params.typical_p = typical_p;
    for (params.seed = 0; params.seed < 200; ++params.seed) {
      params.top_k = 0;
      const TokenId from_all = sampler.sample(params, logits, {});
      params.top_k = 5000;
      EXPECT_EQ(sampler.sample(params, logits, {}), from_all) << top_p << ' ' << min_p << ' ' << typical_p;
    }
  }
}

std::vector<SamplingParams> chains() {
  std::vector<SamplingParams> all;
  for (const float temperature : {0.0f, 1.0f}) {
    for (const int top_k : {0, 1, 3, 4}) {
      for (const float top_p : {0.5f, 1.0f}) {
        all.push_back(neutral());
        all.back().temperature = temperature;
        all.back().top_k = top_k;
        all.back().top_p = top_p;
      }
    }
  }
  return all;
}

TEST(Sampler, GivesNoTokenWhereALogitIsNaNOrInfiniteOrNoneIsFinite) {
  Sampler sampler(4);
  for (const std::vector<float>& logits :
       std::vector<std::vector<float>>{{NAN, 1, 0, 2},
                                       {1, 2, 3, NAN},
                                       {INFINITY, 1, 2, 3},
                                       {NAN, NAN, NAN, NAN},
                                       {-INFINITY, -INFINITY, -INFINITY, -INFINITY}}) {
    for (const SamplingParams& params : chains()) {
      EXPECT_EQ(sampler.sample(params, logits, {}), kNoToken);
    }
  }
}

TEST(Sampler, MinusInfinityIsNeverDrawn) {
  for (const SamplingParams& params : chains()) {
    for (const int id : tokens_drawn(params, std::vector<float>{-INFINITY, 1, -INFINITY, 2}))
      EXPECT_EQ(id % 2, 1) << params.top_k;
  }
}

TEST(Sampler, GivesNoTokenWhereAllThatAreAllowedAreRuledOut) {
  Sampler sampler(4);
  const uint64_t allowed[] = {0b0011};
  auto params = neutral();
  params.logit_bias = {{TokenId{0}, -INFINITY}, {TokenId{1}, -INFINITY}};
  EXPECT_EQ(sampler.sample(params, std::vector<float>{1, 2, 3, 4}, {}, allowed), kNoToken);
  params.logit_bias.pop_back();
  EXPECT_EQ(sampler.sample(params, std::vector<float>{1, 2, 3, 4}, {}, allowed), TokenId{1});
}

TEST(Sampler, PenaltiesCountEachTokenOfTheWindowOnce) {
  auto params = neutral();
  params.temperature = 0;
  params.repeat_penalty = 2;
  params.repeat_last_n = 2;
  Sampler sampler(3);
  const std::vector<float> logits = {4, 3, -1};
  const auto pick = [&](std::vector<int> ids) {
    std::vector<TokenId> history;
    for (const int id : ids) history.push_back(TokenId{id});
    return to_index(sampler.sample(params, logits, history));
  };
  EXPECT_EQ(pick({}), 0);
  EXPECT_EQ(pick({0}), 1);        // 4 / 2 < 3
  EXPECT_EQ(pick({0, 0}), 1);     // once, not twice
  EXPECT_EQ(pick({0, 1, 2}), 0);  // 0 has left the window
  params.repeat_penalty = 1;
  params.frequency_penalty = 0.6f;
  EXPECT_EQ(pick({0}), 0);
  EXPECT_EQ(pick({0, 0}), 1);  // 4 - 2 * 0.6
  params.frequency_penalty = 0;
  params.presence_penalty = 1.5f;
  EXPECT_EQ(pick({0}), 1);
  params.repeat_last_n = 0;
  EXPECT_EQ(pick({0}), 0);
}

TEST(Sampler, LogitBiasForcesAndForbids) {
  auto params = neutral();
  params.logit_bias = {{TokenId{3}, 100.0f}};
  EXPECT_EQ(tokens_drawn(params, kLogits), std::set{3});
  params.logit_bias = {{TokenId{0}, -INFINITY}};
  EXPECT_FALSE(tokens_drawn(params, kLogits).contains(0));
}

TEST(Sampler, SameSeedAndPositionSameToken) {
  Sampler a(4), b(4);
  auto params = neutral();
  std::vector<TokenId> history;
  int n_different = 0;
  for (int i = 0; i < 200; ++i) {
    history.push_back(TokenId{1});
    params.seed = 5;
    const TokenId token = a.sample(params, kLogits, history);
    EXPECT_EQ(token, b.sample(params, kLogits, history));
    params.seed = 6;
    n_different += token != a.sample(params, kLogits, history) ? 1 : 0;
  }
  EXPECT_GT(n_different, 50);
}

TEST(Sampler, LogprobsAreTheModelsDistribution) {
  Sampler sampler(4);
  const auto top = sampler.top_logprobs(kLogits, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(to_index(top[0].id), 0);
  EXPECT_EQ(to_index(top[1].id), 2);
  EXPECT_EQ(to_index(top[2].id), 3);
  EXPECT_NEAR(top[1].logprob, std::log(0.3), 1e-6);
  EXPECT_NEAR(sampler.logprob(kLogits, TokenId{1}), std::log(0.05), 1e-6);
}

TEST(Validate, NamesTheParameter) {
  const auto refused = [](auto change) {
    SamplingParams params;
    change(params);
    const auto status = validate(params, 10);
    return status.ok() ? std::string() : status.error().subject;
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& p) { p.temperature = -1; }), "temperature");
  EXPECT_EQ(refused([](auto& p) { p.temperature = NAN; }), "temperature");
  EXPECT_EQ(refused([](auto& p) { p.top_k = -1; }), "top_k");
  EXPECT_EQ(refused([](auto& p) { p.top_p = -0.1f; }), "top_p");
  EXPECT_EQ(refused([](auto& p) { p.typical_p = 1.1f; }), "typical_p");
  EXPECT_EQ(refused([](auto& p) { p.min_p = -0.1f; }), "min_p");
  EXPECT_EQ(refused([](auto& p) { p.repeat_penalty = 0; }), "repeat_penalty");
  EXPECT_EQ(refused([](auto& p) { p.frequency_penalty = 3; }), "frequency_penalty");
  EXPECT_EQ(refused([](auto& p) { p.logit_bias = {{TokenId{10}, 1.0f}}; }), "logit_bias");
}

}  // namespace
}  // namespace realizar
