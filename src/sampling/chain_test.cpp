// Chains in a custom order, compared with each sampler's definition worked out by hand.
#include "sampling/chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "sampling/dynamic_temperature.h"
#include "sampling/sampler.h"
#include "sampling/sampler_names.h"
#include "sampling/top_n_sigma.h"

namespace realizar {
namespace {

constexpr int kPlaces = 20000;

SamplingParams all_off() {
  SamplingParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  return params;
}

std::vector<float> logits_of(const std::vector<double>& p) {
  std::vector<float> logits;
  for (const double one : p) logits.push_back(static_cast<float>(std::log(one)));
  return logits;
}

// How often each token is drawn, at many positions.
std::map<int, double> drawn(const SamplingParams& params, std::span<const float> logits) {
  Sampler sampler(static_cast<uint32_t>(logits.size()));
  std::map<int, double> share;
  std::vector<TokenId> history;
  for (int i = 0; i < kPlaces; ++i) {
    history.push_back(TokenId{0});
    share[to_index(sampler.sample(params, logits, history))] += 1.0 / kPlaces;
  }
  return share;
}

std::set<int> ids_drawn(const SamplingParams& params, std::span<const float> logits) {
  std::set<int> ids;
  for (const auto& [id, share] : drawn(params, logits)) ids.insert(id);
  return ids;
}

const std::vector<float> kFour = logits_of({0.5, 0.05, 0.3, 0.15});

// Compares the general path with the usual path for the same chain.
TEST(Chain, GivesTheTokensOfTheUsualPathInItsOrder) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(600);
  for (float& logit : logits) logit = normal(engine);
  const std::vector<TokenId> history(30, TokenId{5});
  Sampler sampler(600);
  for (int i = 0; i < 300; ++i) {
    auto params = all_off();
    params.seed = static_cast<uint64_t>(i);
    params.temperature = i % 7 == 0 ? 0.0f : 0.5f + 0.01f * static_cast<float>(i % 90);
    params.top_k = i % 3 == 0 ? 0 : 1 + i % 40;
    params.top_p = i % 2 == 0 ? 1.0f : 0.9f;
    params.typical_p = i % 5 == 0 ? 0.9f : 1.0f;
    params.min_p = i % 4 == 0 ? 0.02f : 0.0f;
    params.repeat_penalty = i % 6 == 0 ? 1.3f : 1.0f;
    const TokenId usual = sampler.sample(params, logits, history);
    params.samplers = *samplers_of_letters("etkypm");
    EXPECT_EQ(sampler.sample(params, logits, history), usual) << i;
  }
}

TEST(Chain, OrderDecides) {
  auto params = all_off();
  params.temperature = 3;
  params.top_p = 0.79f;
  params.samplers = *samplers_of_letters("pt");
  EXPECT_EQ(ids_drawn(params, kFour), (std::set{0, 2}));  // 0.5 + 0.3 at the model's own temperature
  params.samplers = *samplers_of_letters("tp");
  // At temperature 3 the shares are 0.333, 0.155, 0.281 and 0.223: three of them are needed to reach 0.79.
  EXPECT_EQ(ids_drawn(params, kFour), (std::set{0, 2, 3}));
}

TEST(Chain, SamplersThatAreNotNamedAreOff) {
  auto params = all_off();
  params.top_k = 1;
  params.temperature = 0;
  params.samplers.emplace();
  EXPECT_EQ(ids_drawn(params, kFour), (std::set{0, 1, 2, 3}));
  params.samplers = *samplers_of_letters("t");
  EXPECT_EQ(ids_drawn(params, kFour), std::set{0});
}

TEST(Chain, PenaltiesAfterOthersChangeWhoIsLeft) {
  auto params = all_off();
  params.top_k = 2;
  params.temperature = 0;
  params.presence_penalty = 2;
  params.samplers = *samplers_of_letters("ket");
  // 0 and 2 are left, and the penalty moves 0 below 2; before top-k it would move below 3 and 1 too.
  EXPECT_EQ(ids_drawn(params, kFour), std::set{2});
  params.samplers = *samplers_of_letters("tek");
  EXPECT_EQ(ids_drawn(params, kFour), std::set{0});  // temperature 0 leaves one
}

TEST(Chain, ConstraintAndBiasComeFirst) {
  auto params = all_off();
  params.samplers = *samplers_of_letters("k");
  params.top_k = 1;
  const uint64_t allowed[] = {0b1010};
  Sampler sampler(4);
  EXPECT_EQ(sampler.sample(params, kFour, {}, allowed), TokenId{3});
  params.logit_bias = {{TokenId{3}, -INFINITY}};
  EXPECT_EQ(sampler.sample(params, kFour, {}, allowed), TokenId{1});
  params.logit_bias.push_back({TokenId{1}, -INFINITY});
  EXPECT_EQ(sampler.sample(params, kFour, {}, allowed), kNoToken);
}

TEST(Chain, PenaltiesThatLeaveNoNumberGiveNoToken) {
  auto params = all_off();
  params.repeat_penalty = 1e-38f;
  params.temperature = 0;
  params.samplers = *samplers_of_letters("et");
  Sampler sampler(2);
  const std::vector<TokenId> history{TokenId{1}};
  EXPECT_EQ(sampler.sample(params, std::vector<float>{1, 1000}, history), kNoToken);
  EXPECT_EQ(sampler.sample(params, std::vector<float>{1, -1}, history), TokenId{0});
}

TEST(TopNSigma, KeepsLogitsNearTheLargest) {
  // Mean 1, deviation sqrt((9 + 1 + 1 + 9) / 4) = 2.236.
  const std::vector<float> logits = {4, 0, 2, -2};
  auto params = all_off();
  params.top_n_sigma = 1;  // 4 - 2.236 = 1.764
  EXPECT_EQ(ids_drawn(params, logits), (std::set{0, 2}));
  params.top_n_sigma = 0.8f;  // 2.211
  EXPECT_EQ(ids_drawn(params, logits), std::set{0});
  params.top_n_sigma = 1.8f;  // -0.025
  EXPECT_EQ(ids_drawn(params, logits), (std::set{0, 1, 2}));
  params.top_n_sigma = -1;
  EXPECT_EQ(ids_drawn(params, logits), (std::set{0, 1, 2, 3}));
}

// Scaling all logits alike keeps the same tokens.
TEST(TopNSigma, DoesNotDependOnTheTemperature) {
  auto params = all_off();
  params.top_n_sigma = 1;
  for (const float temperature : {0.5f, 5.0f}) {
    params.temperature = temperature;
    EXPECT_EQ(ids_drawn(params, std::vector<float>{4, 0, 2, -2}), (std::set{0, 2})) << temperature;
  }
}

TEST(TopNSigma, LeavesOutWhatCannotCome) {
  auto params = all_off();
  params.top_n_sigma = 1;
  EXPECT_EQ(ids_drawn(params, std::vector<float>{4, 0, -INFINITY, 2, -2}), (std::set{0, 3}));
}

TEST(Xtc, DropsAllButTheLeastLikelyOfTheTopChoices) {
  auto params = all_off();
  params.xtc_probability = 1;
  params.xtc_threshold = 0.1f;  // 0.5, 0.3 and 0.15 are above it; 0.15, the least of them, stays
  const auto share = drawn(params, kFour);
  EXPECT_EQ(share.size(), 2u);
  EXPECT_NEAR(share.at(3), 0.15 / 0.2, 0.012);
  EXPECT_NEAR(share.at(1), 0.05 / 0.2, 0.012);
  params.xtc_threshold = 0.4f;  // only one is above it, and it stays
  EXPECT_EQ(ids_drawn(params, kFour).size(), 4u);
  params.xtc_threshold = 0.51f;
  EXPECT_EQ(drawn(params, kFour), drawn(all_off(), kFour));
}

// The draw that decides whether XTC applies is independent of the draw of the token.
TEST(Xtc, ComesAsOftenAsIsWanted) {
  auto params = all_off();
  params.xtc_probability = 0.25f;
  params.xtc_threshold = 0.1f;
  const auto share = drawn(params, kFour);
  EXPECT_NEAR(share.at(0), 0.75 * 0.5, 0.012);
  EXPECT_NEAR(share.at(3), 0.75 * 0.15 + 0.25 * 0.75, 0.012);
}

TEST(DynamicTemperature, FollowsTheEntropy) {
  auto params = all_off();
  params.temperature = 1;
  params.dynatemp_range = 0.6f;
  const auto at = [&params](const std::vector<double>& p) {
    Candidates candidates;
    for (const double one : p) candidates.push_back({TokenId{0}, 0, one});
    return dynamic_temperature(params, candidates);
  };
  EXPECT_NEAR(at({0.25, 0.25, 0.25, 0.25}), 1.6, 1e-6);
  EXPECT_NEAR(at({1, 0, 0, 0}), 0.4, 1e-6);
  // Half of the maximal entropy of four: (0.5, 0.5, 0, 0).
  EXPECT_NEAR(at({0.5, 0.5, 0, 0}), 1.0, 1e-6);
  params.dynatemp_exponent = 2;
  EXPECT_NEAR(at({0.5, 0.5, 0, 0}), 0.4 + 1.2 * 0.25, 1e-6);
  params.dynatemp_range = 3;  // clamped at 0
  EXPECT_NEAR(at({0.5, 0.5, 0, 0}), 4 * 0.25, 1e-6);
  EXPECT_NEAR(at({1}), 1, 1e-6);
}

TEST(DynamicTemperature, ShapesTheDraw) {
  auto params = all_off();
  params.dynatemp_range = 0.5f;
  const std::vector<float> two = logits_of({0.8, 0.2});
  const double entropy = -(0.8 * std::log(0.8) + 0.2 * std::log(0.2)) / std::log(2.0);
  const double temperature = 0.5 + entropy;
  const double odds = std::pow(4.0, 1 / temperature);
  EXPECT_NEAR(drawn(params, two).at(0), odds / (1 + odds), 0.012);
}

TEST(SamplerNames, AreThoseOfLlamaCpp) {
  using enum SamplerKind;
  const std::vector<SamplerKind> all = {kPenalties, kDry,  kTopNSigma, kTopK,       kTypical,
                                        kTopP,      kMinP, kXtc,       kTemperature};
  EXPECT_EQ(*samplers_of_letters("edskypmxt"), all);
  EXPECT_EQ(*samplers_of_list("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"), all);
  EXPECT_EQ(*samplers_of_names({"top-k", "nucleus", "typical", "temp"}),
            (std::vector<SamplerKind>{kTopK, kTopP, kTypical, kTemperature}));
  EXPECT_EQ(*samplers_of_names({"tfs_z", "min_p", "adaptive_p", "infill"}), std::vector<SamplerKind>{kMinP});
  EXPECT_TRUE(samplers_of_letters("")->empty());
  for (const auto& wrong : {samplers_of_letters("kq"), samplers_of_list("top_k;warm\n"), samplers_of_names({""})}) {
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().subject, "samplers");
    EXPECT_NE(wrong.error().message.find("temperature (t)"), std::string::npos);
    EXPECT_EQ(wrong.error().message.find('\n'), std::string::npos);
  }
}

TEST(SamplerNames, AChainHasABound) {
  SamplingParams params;
  params.samplers.emplace(kMaxSamplers, SamplerKind::kTopK);
  EXPECT_TRUE(validate(params, 1).ok());
  params.samplers->push_back(SamplerKind::kTopK);
  ASSERT_FALSE(validate(params, 1).ok());
  EXPECT_EQ(validate(params, 1).error().subject, "samplers");
}

}  // namespace
}  // namespace realizar
