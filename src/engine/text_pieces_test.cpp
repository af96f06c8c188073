#include "engine/text_pieces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace realizar::engine {
namespace {

// The flags of each kind, with one character per block: "x" if the piece exists.
PieceFlags flags_of(const std::vector<std::string>& kinds) {
  PieceFlags flags;
  for (size_t block = 0; block < kinds.front().size(); ++block) {
    for (const std::string& kind : kinds) flags.push_back(kind[block] == 'x');
  }
  return flags;
}

uint32_t longest(const PieceRules& rules, const std::vector<std::string>& kinds) {
  return longest_usable(rules, static_cast<uint32_t>(kinds.front().size()), flags_of(kinds));
}

TEST(LongestUsable, WithoutWindowsEveryBlockIsNeeded) {
  const PieceRules rules{4, {0}, false};
  EXPECT_EQ(longest(rules, {"xxxx"}), 4u);
  EXPECT_EQ(longest(rules, {"xx.x"}), 2u);
  EXPECT_EQ(longest(rules, {".xxx"}), 0u);
  EXPECT_EQ(longest_usable(rules, 2, flags_of({"xxxx"})), 2u) << "of the first two";
}

TEST(LongestUsable, OfAWindowWhatTheNextRowSees) {
  const PieceRules rules{4, {0, 5}, false};
  EXPECT_EQ(longest(rules, {"xxxxx", "....x"}), 5u) << "a row and four before it: one block";
  EXPECT_EQ(longest(rules, {"xxxxx", "..x.."}), 3u);
  EXPECT_EQ(longest(rules, {"xx.xx", "xxxxx"}), 2u);
  const PieceRules wider{4, {0, 6}, false};
  EXPECT_EQ(longest(wider, {"xxxxx", "....x"}), 0u);
  EXPECT_EQ(longest(wider, {"xxxxx", "...xx"}), 5u);
  EXPECT_TRUE(wider.needs({3, 1}, 5));
  EXPECT_FALSE(wider.needs({2, 1}, 5));
  EXPECT_TRUE(wider.needs({0, 0}, 5));
  EXPECT_FALSE(wider.needs({5, 0}, 5));
}

TEST(LongestUsable, AfterTheLastBlockAStateIsNeeded) {
  const PieceRules rules{4, {0}, true};
  EXPECT_EQ(longest(rules, {"xxxx", ".x.x"}), 4u);
  EXPECT_EQ(longest(rules, {"xxxx", ".x.."}), 2u);
  EXPECT_EQ(longest(rules, {"x.xx", ".x.x"}), 0u);
  EXPECT_TRUE(rules.needs({1, 1}, 2));
  EXPECT_FALSE(rules.needs({0, 1}, 2));
}

}  // namespace
}  // namespace realizar::engine
