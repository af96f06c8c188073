#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace realizar {
namespace {

std::vector<TokenId> tokens_of(std::initializer_list<int> ids) {
  std::vector<TokenId> tokens;
  for (const int id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

TEST(BlockPool, HandsOutEveryBlockOnceAndThenNone) {
  BlockPool pool(3, 4, 0);
  std::vector<BlockId> got;
  for (int i = 0; i < 3; ++i) got.push_back(*pool.allocate());
  std::sort(got.begin(), got.end());
  EXPECT_EQ(std::unique(got.begin(), got.end()), got.end());
  EXPECT_FALSE(pool.allocate().has_value());
  pool.release(got[1]);
  EXPECT_EQ(pool.allocate(), got[1]);
}

TEST(BlockPool, FindsTheLongestNamedPrefix) {
  BlockPool pool(4, 2, 7);
  const auto text = tokens_of({1, 2, 3, 4, 5, 6});
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  pool.name_blocks(std::vector{a, b}, text, 0, 2);
  pool.release(a);
  pool.release(b);
  std::vector<BlockId> found;
  pool.find_prefix(text, 8, found);
  EXPECT_EQ(found, (std::vector{a, b}));
  EXPECT_EQ(pool.n_free(), 2u);
  found.clear();
  pool.find_prefix(text, 1, found);
  EXPECT_EQ(found, (std::vector{a}));
  found.clear();
  pool.find_prefix(tokens_of({1, 2, 9, 4}), 8, found);
  EXPECT_EQ(found, (std::vector{a}));
  found.clear();
  // The same tokens as the second block, but not after the first.
  pool.find_prefix(tokens_of({3, 4}), 8, found);
  EXPECT_TRUE(found.empty());
}

TEST(BlockPool, ReusesTheLeastRecentlyReleasedAndForgetsItsName) {
  BlockPool pool(2, 1, 0);
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  pool.name_blocks({&a, 1}, tokens_of({1}), 0, 1);
  pool.name_blocks({&b, 1}, tokens_of({2}), 0, 1);
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.allocate(), b);
  std::vector<BlockId> found;
  pool.find_prefix(tokens_of({2}), 1, found);
  EXPECT_TRUE(found.empty());
  pool.find_prefix(tokens_of({1}), 1, found);
  EXPECT_EQ(found, (std::vector{a}));
}

TEST(BlockPool, AgreesWithANaiveModelUnderRandomUse) {
  constexpr uint32_t kBlocks = 12, kBlockTokens = 2;
  std::mt19937 random(3);
  BlockPool pool(kBlocks, kBlockTokens, 1);
  std::map<uint32_t, std::string> name_of;  // naive: what each block was named last
  std::vector<BlockId> held;
  for (int step = 0; step < 20000; ++step) {
    const auto letter = [&] { return TokenId{static_cast<int>(random() % 3)}; };
    const std::vector<TokenId> text{letter(), letter(), letter(), letter()};
    const auto spelled = [&](uint32_t n) {
      std::string key;
      for (uint32_t i = 0; i < n; ++i) key += static_cast<char>('0' + to_index(text[i]));
      return key;
    };
    switch (random() % 4) {
      case 0: {
        const bool has_free = pool.n_free() > 0;
        const auto block = pool.allocate();
        ASSERT_EQ(block.has_value(), has_free);
        if (!block) break;
        name_of.erase(to_index(*block));
        held.push_back(*block);
        break;
      }
      case 1: {
        if (held.empty()) break;
        const size_t i = random() % held.size();
        pool.release(held[i]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
      case 2: {
        if (held.empty()) break;
        const BlockId block = held[random() % held.size()];
        const uint32_t block_idx = random() % 2;
        const std::string key = spelled((block_idx + 1) * kBlockTokens);
        const bool taken = std::any_of(name_of.begin(), name_of.end(), [&](const auto& n) { return n.second == key; });
        if (!taken && !name_of.contains(to_index(block))) name_of[to_index(block)] = key;
        pool.name_blocks(std::vector(2, block), text, block_idx, block_idx + 1);
        break;
      }
      default: {
        std::vector<BlockId> found;
        pool.find_prefix(text, 2, found);
        for (uint32_t i = 0; i < 2; ++i) {
          const std::string key = spelled((i + 1) * kBlockTokens);
          const auto named =
              std::find_if(name_of.begin(), name_of.end(), [&](const auto& n) { return n.second == key; });
          const bool expected = named != name_of.end() && found.size() >= i;
          ASSERT_EQ(found.size() > i, expected);
          if (!expected) break;
          ASSERT_EQ(to_index(found[i]), named->first);
        }
        held.insert(held.end(), found.begin(), found.end());
      }
    }
    std::map<uint32_t, uint32_t> n_held;
    for (const BlockId block : held) ++n_held[to_index(block)];
    for (uint32_t block = 0; block < kBlocks; ++block) ASSERT_EQ(pool.n_holders(BlockId{block}), n_held[block]);
    ASSERT_TRUE(pool.is_consistent()) << step;
  }
}

}  // namespace
}  // namespace realizar
