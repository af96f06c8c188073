#include "sampling/mirostat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "sampling/philox.h"
#include "sampling/sampler.h"

namespace realizar {
namespace {

SamplingParams with_mirostat(int32_t version, float tau) {
  SamplingParams params;
  params.temperature = 1;
  params.mirostat = version;
  params.mirostat_tau = tau;
  return params;
}

std::vector<float> surprises(const std::vector<double>& p) {
  std::vector<float> logits;
  for (const double one : p) logits.push_back(static_cast<float>(std::log(one)));
  return logits;
}

const std::vector<float> kEighths = surprises({0.5, 0.25, 0.125, 0.125});  // 1, 2, 3 and 3 bits

TEST(Mirostat2, TakesTokensWhoseSurpriseIsBelowItsBound) {
  for (const auto& [tau, expected] :
       {std::pair{1.6f, std::set{0, 1, 2, 3}}, {1.2f, {0, 1}}, {0.6f, {0}}, {0.1f, {0}}}) {
    const auto params = with_mirostat(2, tau);
    Sampler sampler(4);
    std::set<int> drawn;
    std::vector<TokenId> history;
    for (int i = 0; i < 500; ++i) {
      history.push_back(TokenId{0});
      drawn.insert(to_index(sampler.sample(params, kEighths, history)));
    }
    EXPECT_EQ(drawn, expected) << tau;
  }
}

TEST(Mirostat2, LearnsFromEachToken) {
  auto params = with_mirostat(2, 1.2f);
  params.mirostat_eta = 0.5f;
  SamplerState state;
  Sampler sampler(4);
  // The first two are below 2.4 bits, and their shares become 2/3 and 1/3.
  const TokenId id = sampler.sample(params, kEighths, {}, {}, &state);
  const double surprise = -std::log2(id == TokenId{0} ? 2.0 / 3 : 1.0 / 3);
  EXPECT_EQ(id, uniform(params.seed, 0) < 2.0 / 3 ? TokenId{0} : TokenId{1});
  EXPECT_NEAR(*state.max_surprise, 2.4 - 0.5 * (surprise - 1.2), 1e-6);
}

TEST(Mirostat, IgnoresTheOtherFiltersButNotTemperatureAndPenalties) {
  auto params = with_mirostat(2, 5);
  params.top_k = 1;
  params.top_p = 0.01f;
  Sampler sampler(4);
  std::set<int> drawn;
  for (params.seed = 0; params.seed < 300; ++params.seed) {
    drawn.insert(to_index(sampler.sample(params, kEighths, {})));
  }
  EXPECT_EQ(drawn.size(), 4u);
  params.temperature = 0;
  EXPECT_EQ(sampler.sample(params, kEighths, {}), TokenId{0});
  params.presence_penalty = 2;
  EXPECT_EQ(sampler.sample(params, kEighths, std::vector<TokenId>{TokenId{0}}), TokenId{1});
}

// p_i = i^-s has the exponent s, whatever its factor.
TEST(Mirostat1, FindsZipfsExponent) {
  for (const double s : {0.5, 1.0, 1.7}) {
    Candidates candidates;
    for (int i = 1; i <= 300; ++i) candidates.push_back({TokenId{i}, 0, 0.1 * std::pow(i, -s)});
    EXPECT_NEAR(zipf_exponent(candidates), s, 1e-9);
  }
}

// The paper's equation by hand: s = 1.5, e = 0.5, N = 10000, mu = 4: (0.5 * 16 / (1 - 0.01))^(2/3) = 4.0269.
TEST(Mirostat1, TakesAsManyTokensAsThePaperSays) {
  Candidates candidates;
  for (int i = 1; i <= 300; ++i) candidates.push_back({TokenId{i}, 0, std::pow(i, -1.5)});
  EXPECT_EQ(mirostat_top_k(candidates, 10000, 4), 4u);
  // mu = 8: (0.5 * 256 / 0.99)^(2/3) = 25.6
  EXPECT_EQ(mirostat_top_k(candidates, 10000, 8), 25u);
  EXPECT_EQ(mirostat_top_k(candidates, 10000, 40), 300u);
  EXPECT_EQ(mirostat_top_k(candidates, 10000, -9), 1u);
}

// e = 0: e / (1 - N^-e) becomes 1 / ln N, so that k = 2^mu / ln N.
TEST(Mirostat1, HoldsWhereTheFormulaHasNoValue) {
  Candidates zipf, alike, one = {{TokenId{0}, 0, 1}};
  for (int i = 1; i <= 300; ++i) {
    zipf.push_back({TokenId{i}, 0, 1.0 / i});
    alike.push_back({TokenId{i}, 0, 1.0 / 300});
  }
  EXPECT_EQ(mirostat_top_k(zipf, 10000, 8), static_cast<size_t>(256 / std::log(10000.0)));
  for (const double mu : {-100.0, 0.0, 8.0, 1000.0}) {
    EXPECT_GE(mirostat_top_k(alike, 300, mu), 1u);
    EXPECT_LE(mirostat_top_k(alike, 300, mu), 300u);
    EXPECT_EQ(mirostat_top_k(one, 300, mu), 1u);
  }
}

// The purpose of mirostat: the mean surprise approaches tau, although the distribution's own would be different.
TEST(Mirostat, HoldsTheSurpriseNearItsAim) {
  constexpr uint32_t kTokens = 2000;
  for (const int32_t version : {1, 2}) {
    for (const float tau : {2.0f, 4.0f}) {
      const auto params = with_mirostat(version, tau);
      Sampler sampler(kTokens);
      SamplerState state;
      std::mt19937 engine(1);
      std::vector<TokenId> history;
      double bits = 0, last = 2 * tau;
      constexpr int kSteps = 2000;
      for (int step = 0; step < kSteps; ++step) {
        std::vector<float> logits(kTokens);
        const float s = 0.8f + 0.001f * static_cast<float>(engine() % 600);
        for (uint32_t i = 0; i < kTokens; ++i) logits[i] = -s * std::log(static_cast<float>(i + 1));
        history.push_back(sampler.sample(params, logits, history, {}, &state));
        bits += tau + (last - *state.max_surprise) / params.mirostat_eta;
        last = *state.max_surprise;
      }
      EXPECT_NEAR(bits / kSteps, tau, 0.1) << version << ' ' << tau;
    }
  }
}

}  // namespace
}  // namespace realizar
