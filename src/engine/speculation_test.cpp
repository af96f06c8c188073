#include "engine/speculation.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <numeric>
#include <vector>

namespace realizar::engine {
namespace {

std::vector<TokenId> ids(std::initializer_list<int32_t> numbers) {
  std::vector<TokenId> tokens;
  for (const int32_t number : numbers) tokens.push_back(TokenId{number});
  return tokens;
}

PromptLookup lookup_after(const std::vector<TokenId>& text, uint32_t max_tokens = 4) {
  PromptLookup lookup;
  lookup.find(text, max_tokens);
  return lookup;
}

TEST(PromptLookup, IsWhatFollowedTheLongestEnding) {
  const PromptLookup lookup = lookup_after(ids({1, 2, 3, 10, 11, 12, 13, 2, 3, 20, 21, 1, 2, 3}));
  EXPECT_EQ(lookup.n_matched, 3u);
  EXPECT_EQ(lookup.tokens, ids({10, 11, 12, 13})) << "and not what followed the later 2, 3";
}

TEST(PromptLookup, TakesTheLatestOfEndingsThatAreAsLong) {
  EXPECT_EQ(lookup_after(ids({1, 2, 10, 1, 2, 20, 1, 2}), 1).tokens, ids({20}));
}

TEST(PromptLookup, IsNoneWhereASingleTokenRepeats) {
  EXPECT_TRUE(lookup_after(ids({1, 2, 3, 4, 2})).tokens.empty());
  EXPECT_TRUE(lookup_after({}).tokens.empty());
  EXPECT_TRUE(lookup_after(ids({1})).tokens.empty());
  EXPECT_TRUE(lookup_after(ids({1, 2, 1, 2}), 0).tokens.empty()) << "none is wanted";
}

TEST(PromptLookup, OfARepetitionGoesOnBeyondTheTextsEnd) {
  EXPECT_EQ(lookup_after(ids({9, 1, 2, 3, 1, 2, 3}), 7).tokens, ids({1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(lookup_after(ids({5, 5, 5}), 3).tokens, ids({5, 5, 5}));
}

// Hit rates after a history in which the first token was right with probability `first`, and later ones with `later`,
// in steps of 1/16.
HitRates learned(const PromptLookup& lookup, bool is_first_right, bool are_later_right) {
  HitRates rates;
  std::vector<TokenId> chosen = lookup.tokens;
  if (!are_later_right && chosen.size() > 1) chosen[1] = TokenId{-1};
  if (!is_first_right) chosen[0] = TokenId{-1};
  for (int step = 0; step < 100; ++step) rates.learn(lookup, chosen);
  return rates;
}

const PromptLookup kLookup{2, ids({1, 2, 3, 4, 5, 6, 7})};

TEST(HitRates, LearnTheFirstTokenAndThoseAfterARightOneApart) {
  const HitRates right = learned(kLookup, true, true), short_ones = learned(kLookup, true, false);
  EXPECT_GT(right.of(kLookup).first, 0.95);
  EXPECT_GT(right.of(kLookup).later, 0.95);
  EXPECT_GT(short_ones.of(kLookup).first, 0.95);
  EXPECT_LT(short_ones.of(kLookup).later, 0.05);
  EXPECT_LT(learned(kLookup, false, true).of(kLookup).first, 0.05);
}

TEST(HitRates, OfOneLengthOfEndingsSayNothingOfAnother) {
  const PromptLookup longer{8, kLookup.tokens};
  EXPECT_EQ(learned(kLookup, false, false).of(longer).first, HitRates().of(longer).first);
}

// Rows are cheap up to eight, and beyond that each costs as much as a step.
double cheap_to_eight_ms(uint32_t n_rows, uint32_t /*n_tokens*/) {
  return n_rows <= 8 ? 20 + n_rows : 28 + 20 * (n_rows - 8.0);
}

std::vector<uint32_t> granted(std::span<const HitRates> rates, uint32_t n_rows, uint32_t n_spare) {
  std::vector<DraftOffer> offers;
  for (const HitRates& of_one : rates) offers.push_back({of_one.of(kLookup), 7});
  grant_drafts(offers, n_rows, n_spare, cheap_to_eight_ms);
  std::vector<uint32_t> counts;
  for (const DraftOffer& offer : offers) counts.push_back(offer.n_granted);
  return counts;
}

TEST(GrantDrafts, GivesRowsWhereHitsMakeUpForThem) {
  const std::vector<HitRates> right{learned(kLookup, true, true)}, wrong{learned(kLookup, false, true)};
  EXPECT_EQ(granted(right, 1, 63), std::vector<uint32_t>{7});
  EXPECT_EQ(granted(wrong, 1, 63), std::vector<uint32_t>{0});
  EXPECT_EQ(granted(right, 1, 3), std::vector<uint32_t>{3}) << "as far as the step has rows";
}

TEST(GrantDrafts, LikelierTokensComeFirst) {
  const std::vector<HitRates> rates{learned(kLookup, false, true), learned(kLookup, true, true)};
  EXPECT_EQ(granted(rates, 2, 62), (std::vector<uint32_t>{0, 6}));
}

TEST(GrantDrafts, ManySequencesLeaveNoCheapRows) {
  const std::vector<HitRates> rates(8, learned(kLookup, true, true));
  const std::vector<uint32_t> counts = granted(rates, 8, 56);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0u), 0u);
}

TEST(GrantDrafts, WaitsUntilATimeIsKnown) {
  const HitRates right = learned(kLookup, true, true);
  std::vector<DraftOffer> offers{{right.of(kLookup), 7}};
  grant_drafts(offers, 1, 63, [](uint32_t, uint32_t) { return 0.0; });
  EXPECT_EQ(offers[0].n_granted, 0u);
}

// Tokens granted to one of n_seqs sequences for a draft model with this record.
uint32_t granted(const DraftRecord& record, uint32_t n_seqs = 1) {
  std::vector<DraftOffer> offers(n_seqs, {record.chances(), 7});
  grant_drafts(offers, n_seqs, 64 - n_seqs,
               [&](uint32_t n_rows, uint32_t n_tokens) { return cheap_to_eight_ms(n_rows, 0) + record.ms(n_tokens); });
  return offers[0].n_granted;
}

DraftRecord record_of(uint32_t n_drafted, uint32_t n_right, double token_ms) {
  DraftRecord record;
  for (int step = 0; step < 100; ++step) {
    record.learn_hits(n_drafted, n_right);
    record.learn_time(n_drafted, token_ms * n_drafted);
  }
  return record;
}

TEST(DraftRecord, AModelIsAskedForMoreTheMoreOftenAndTheFasterItIsRight) {
  EXPECT_EQ(granted(record_of(7, 7, 2)), 7u);
  EXPECT_EQ(granted(record_of(7, 0, 2)), 0u);
  const uint32_t some = granted(record_of(2, 1, 4));  // one of two verified tokens was right
  EXPECT_GT(some, 0u);
  EXPECT_LT(some, 7u);
  EXPECT_LT(granted(record_of(2, 1, 8)), some);
  EXPECT_EQ(granted(record_of(7, 7, 21)), 0u) << "it takes as long as the step";
  EXPECT_EQ(granted(record_of(7, 7, 2), 8), 0u) << "eight sequences leave no cheap rows";
}

TEST(DraftRecord, AModelIsTriedBeforeAnythingIsKnown) {
  EXPECT_GT(granted(DraftRecord()), 0u);
}

TEST(DraftRecord, OneThatIsNotWorthItIsTriedAgainNowAndThen) {
  DraftRecord record = record_of(7, 0, 2);
  const auto steps_until_tried = [&] {
    int n = 0;
    for (; n < 10000 && granted(record) == 0; ++n) record.forget_some();
    return n;
  };
  EXPECT_LT(steps_until_tried(), 10000);
  record.learn_hits(1, 0);
  EXPECT_GT(steps_until_tried(), 100) << "a single miss ends the trial";
  record.learn_hits(2, 2);
  record.learn_hits(2, 2);
  EXPECT_GT(granted(record), 0u) << "hits go on with it";
}

TEST(DraftRecord, OneInterruptedStepSaysLittle) {
  DraftRecord record = record_of(7, 7, 2);
  record.learn_time(7, 7 * 1000.0);
  EXPECT_LT(record.ms(1), 2.5);
}

}  // namespace
}  // namespace realizar::engine
