// DRY compared with its definition, computed by trying every earlier position of the text.
#include "sampling/dry.h"

#include <gtest/gtest.h>

#include <random>

#include "sampling/sampler.h"

namespace realizar {
namespace {

std::vector<TokenId> ids(const std::vector<int>& numbers) {
  std::vector<TokenId> tokens;
  for (const int number : numbers) tokens.push_back(TokenId{number});
  return tokens;
}

SequenceBreakers breakers_of(uint32_t n_vocab, const std::vector<int>& whole,
                             const std::vector<std::pair<int, std::vector<int>>>& rests = {}) {
  SequenceBreakers breakers{std::vector<bool>(n_vocab), std::vector<bool>(n_vocab), {}};
  for (const int id : whole) breakers.whole[static_cast<size_t>(id)] = true;
  for (const auto& [head, rest] : rests) {
    breakers.begins[static_cast<size_t>(head)] = true;
    breakers.rests.emplace(TokenId{head}, ids(rest));
  }
  return breakers;
}

// The penalty for each token.
std::vector<float> penalties(const SamplingParams& params, const SequenceBreakers* breakers,
                             const std::vector<TokenId>& history, uint32_t n_vocab) {
  std::vector<float> logits(n_vocab);
  std::vector<uint32_t> counts(n_vocab), matches;
  apply_dry(params, breakers, history, logits, counts, matches);
  EXPECT_EQ(counts, std::vector<uint32_t>(n_vocab));
  for (float& logit : logits) logit = 0 - logit;
  return logits;
}

// Number of tokens after the last breaker, searched from the end.
size_t after_breaker_by_definition(const SequenceBreakers& breakers, const std::vector<TokenId>& seen) {
  for (size_t first = seen.size(); first-- > 0;) {
    size_t longest = breakers.whole[static_cast<size_t>(to_index(seen[first]))] ? 1 : 0;
    for (const auto& [head, rest] : breakers.rests) {
      bool is_there = head == seen[first] && first + rest.size() < seen.size();
      for (size_t i = 0; is_there && i < rest.size(); ++i) is_there = seen[first + 1 + i] == rest[i];
      if (is_there) longest = std::max(longest, rest.size() + 1);
    }
    if (longest > 0) return seen.size() - first - longest;
  }
  return seen.size();
}

std::vector<float> by_definition(const SamplingParams& params, const SequenceBreakers& breakers,
                                 const std::vector<TokenId>& history, uint32_t n_vocab) {
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  size_t n = history.size();
  if (params.dry_penalty_last_n >= 0) n = std::min(n, static_cast<size_t>(params.dry_penalty_last_n));
  const std::vector<TokenId> seen(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
  const size_t most = after_breaker_by_definition(breakers, seen);
  std::vector<float> taken(n_vocab);
  for (size_t next = 1; next < n; ++next) {
    size_t length = 0;
    while (length < next && seen[next - 1 - length] == seen[n - 1 - length]) ++length;
    length = std::min(length, most);
    const auto id = static_cast<size_t>(to_index(seen[next]));
    if (n <= allowed || length < allowed || most < allowed || breakers.whole[id]) continue;
    const double penalty = params.dry_multiplier * std::pow(params.dry_base, static_cast<double>(length - allowed));
    taken[id] = std::max(taken[id], static_cast<float>(penalty));
  }
  return taken;
}

SamplingParams with_dry(float multiplier = 0.8f) {
  SamplingParams params;
  params.dry_multiplier = multiplier;
  return params;
}

TEST(Dry, PenalizesTheTokenThatWouldGoOn) {
  // "1 2 3 4 9 1 2 3": three tokens are repeated, and 4 came after them.
  const auto taken = penalties(with_dry(), nullptr, ids({1, 2, 3, 4, 9, 1, 2, 3}), 10);
  for (int id = 0; id < 10; ++id) {
    const float expected = id == 4 ? 0.8f * 1.75f : 0.0f;
    EXPECT_FLOAT_EQ(taken[static_cast<size_t>(id)], expected) << id;
  }
}

TEST(Dry, AllowsShortRepetitionsAndCountsOnlyTheLongest) {
  // After "2 3" came 5, and after "1 2 3" came 4.
  const auto history = ids({2, 3, 5, 1, 2, 3, 4, 1, 2, 3});
  auto params = with_dry();
  EXPECT_FLOAT_EQ(penalties(params, nullptr, history, 6)[5], 0.8f);
  EXPECT_FLOAT_EQ(penalties(params, nullptr, history, 6)[4], 0.8f * 1.75f);
  params.dry_allowed_length = 3;
  EXPECT_FLOAT_EQ(penalties(params, nullptr, history, 6)[5], 0);
  EXPECT_FLOAT_EQ(penalties(params, nullptr, history, 6)[4], 0.8f);
  params.dry_allowed_length = 4;
  EXPECT_EQ(penalties(params, nullptr, history, 6), std::vector<float>(6));
}

TEST(Dry, SeesTheLastTokensAlone) {
  const auto history = ids({1, 2, 3, 9, 9, 1, 2});
  auto params = with_dry();
  EXPECT_FLOAT_EQ(penalties(params, nullptr, history, 10)[3], 0.8f);
  params.dry_penalty_last_n = 6;  // the first 1 is not seen, so one token is repeated
  EXPECT_FLOAT_EQ(penalties(params, nullptr, history, 10)[3], 0);
  params.dry_penalty_last_n = 0;
  EXPECT_EQ(penalties(params, nullptr, history, 10), std::vector<float>(10));
}

TEST(Dry, NoRepetitionGoesBeyondABreaker) {
  const auto history = ids({1, 2, 3, 4, 5, 1, 2, 3});
  const auto taken = [&](const SequenceBreakers& breakers) { return penalties(with_dry(), &breakers, history, 6)[4]; };
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {})), 0.8f * 1.75f);
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {1})), 0.8f);  // 2 and 3 come after the breaker
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {2})), 0);
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {}, {{5, {1}}})), 0.8f);  // "5 1" is a breaker
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {}, {{5, {1, 2}}})), 0);  // its whole length counts
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {}, {{5, {2}}})), 0.8f * 1.75f);
  EXPECT_FLOAT_EQ(taken(breakers_of(6, {4})), 0);  // a breaker is never penalized
}

TEST(Dry, CostsAreFinite) {
  auto params = with_dry(1e30f);
  params.dry_base = 1e30f;
  const std::vector<TokenId> history(500, TokenId{0});
  const auto taken = penalties(params, nullptr, history, 2);
  EXPECT_TRUE(std::isfinite(taken[0]));
  Sampler sampler(2);
  const uint64_t allowed[] = {1};
  EXPECT_EQ(sampler.sample(params, std::vector<float>{3, 1}, history, allowed), TokenId{0});
  EXPECT_EQ(sampler.sample(params, std::vector<float>{3, 1}, history), TokenId{1});
}

TEST(Dry, AgreesWithItsDefinitionOnRandomTexts) {
  std::mt19937 engine(3);
  const auto below = [&engine](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 3000; ++round) {
    const int n_letters = 1 + below(4);
    std::vector<TokenId> history;
    for (int i = below(60); i > 0; --i) history.push_back(TokenId{below(n_letters)});
    SequenceBreakers breakers = breakers_of(5, {});
    if (below(2) == 0) breakers = breakers_of(5, {below(4)}, {{below(4), {below(4)}}});
    if (below(3) == 0) breakers = breakers_of(5, {}, {{below(4), {below(4), below(4)}}, {below(4), {below(4)}}});
    auto params = with_dry(0.5f);
    params.dry_base = 1.0f + 0.25f * static_cast<float>(below(4));
    params.dry_allowed_length = below(5);
    params.dry_penalty_last_n = below(3) == 0 ? below(40) : -1;
    const auto expected = by_definition(params, breakers, history, 5);
    const auto actual = penalties(params, &breakers, history, 5);
    for (size_t id = 0; id < 5; ++id) ASSERT_FLOAT_EQ(actual[id], expected[id]) << round << ' ' << id;
  }
}

// A text of a single repeated token would cost 10^10 comparisons if each position were compared by itself.
TEST(Dry, LongRepetitionsTakeLinearTime) {
  const std::vector<TokenId> history(200000, TokenId{0});
  std::vector<uint32_t> matches;
  find_suffix_matches(history, matches);
  for (size_t i = 1; i < history.size(); ++i) ASSERT_EQ(matches[i], history.size() - i);
}

TEST(Dry, TheStatesBreakersCountWhereARequestNamesNone) {
  auto params = with_dry(100);
  params.temperature = 0;
  const auto history = ids({1, 2, 3, 1, 2});
  const std::vector<float> logits = {0, 1, 2, 3};
  Sampler sampler(4);
  SamplerState state;
  EXPECT_EQ(sampler.sample(params, logits, history, {}, &state), TokenId{2});
  state.breakers = std::make_shared<const SequenceBreakers>(breakers_of(4, {2}));
  EXPECT_EQ(sampler.sample(params, logits, history, {}, &state), TokenId{3});
  params.dry_breakers = std::make_shared<const SequenceBreakers>(breakers_of(4, {}));
  EXPECT_EQ(sampler.sample(params, logits, history, {}, &state), TokenId{2});
}

}  // namespace
}  // namespace realizar
