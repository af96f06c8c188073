#include "text/tokenizer/merge_loop.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace realizar::text {
namespace {

using Rules = std::map<std::pair<int32_t, int32_t>, Merge>;

// A literal implementation of the definition.
std::vector<int32_t> merge_naively(std::vector<int32_t> symbols, const Rules& rules) {
  while (true) {
    Merge best;
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rule = rules.find({symbols[i], symbols[i + 1]});
      if (rule == rules.end() || rule->second.rank >= best.rank) continue;
      best = rule->second;
      best_at = i;
    }
    if (best.rank == Merge::kNone) return symbols;
    symbols[best_at] = best.id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

// Random rules over an alphabet of three, some with equal rank, some that create what a lower rank merges.
Rules random_rules(std::mt19937& random, int n_rules) {
  Rules rules;
  int32_t n_symbols = 3;
  for (int i = 0; i < n_rules; ++i) {
    const auto symbol = [&] { return static_cast<int32_t>(random() % static_cast<uint32_t>(n_symbols)); };
    const std::pair<int32_t, int32_t> pair(symbol(), symbol());
    if (rules.contains(pair)) continue;
    rules[pair] = {static_cast<uint32_t>(random() % 40), n_symbols++};
  }
  return rules;
}

class MergeLoop : public testing::TestWithParam<size_t> {};

TEST_P(MergeLoop, GivesWhatTheDefinitionGives) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()));
  for (int round = 0; round < 60; ++round) {
    const Rules rules = random_rules(random, 25);
    const auto lookup = [&](int32_t left, int32_t right) {
      const auto rule = rules.find({left, right});
      return rule == rules.end() ? Merge{} : rule->second;
    };
    std::vector<int32_t> word(GetParam());
    for (int32_t& symbol : word) symbol = static_cast<int32_t>(random() % 3);
    const std::vector<int32_t> expected = merge_naively(word, rules);

    std::vector<int32_t> merged = word;
    merged.resize(merge_symbols(std::span(merged), lookup));
    EXPECT_EQ(merged, expected);
    std::vector<int32_t> merged_long = word;
    if (!word.empty()) {
      merged_long.resize(LongMerger(std::span(merged_long), lookup).run());
      EXPECT_EQ(merged_long, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, MergeLoop,
                         testing::Values(0, 1, 2, 3, 10, kShortWord - 1, kShortWord, kShortWord + 1, 200));

}  // namespace
}  // namespace realizar::text
