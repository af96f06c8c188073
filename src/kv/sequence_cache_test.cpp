#include "kv/sequence_cache.h"

#include <gtest/gtest.h>

#include <numeric>

namespace realizar {
namespace {

constexpr uint32_t kBlockTokens = 4;

std::vector<TokenId> text_of(uint32_t n, int first = 1) {
  std::vector<TokenId> text;
  for (uint32_t i = 0; i < n; ++i) text.push_back(TokenId{first + static_cast<int>(i)});
  return text;
}

class CopyingStore final : public BlockStore {
 public:
  bool save(BlockId, uint32_t) override { return false; }
  void restore(uint32_t, BlockId) override {}
  void copy(BlockId, BlockId) override { ++n_copies; }
  int n_copies = 0;
};

class SequenceCacheTest : public testing::Test {
 protected:
  SequenceCache make(uint64_t salt = 0) { return {pool_, salt, 0, 40}; }
  // Computes `text` in chunks and ends.
  void leave(const std::vector<TokenId>& text, uint32_t n_prompt, bool decodes_as_prompt) {
    SequenceCache cache = make();
    ASSERT_TRUE(cache.reserve(static_cast<uint32_t>(text.size())));
    cache.commit(text, n_prompt, true);
    cache.offer_tail(text);
    for (size_t pos = n_prompt; pos < text.size(); ++pos) cache.commit(text, 1, decodes_as_prompt);
    cache.offer_tail(text);
  }
  // Positions of `text` that a later sequence finds.
  uint32_t n_found(const std::vector<TokenId>& text, uint64_t salt = 0) {
    SequenceCache cache = make(salt);
    const auto limit = static_cast<uint32_t>(text.size());
    cache.adopt_blocks(text, limit);
    const uint32_t n_with_tail = cache.n_with_tail(text, limit);
    cache.adopt_tail(text, limit);
    EXPECT_EQ(cache.n_computed(), n_with_tail);
    EXPECT_GE(cache.blocks().size() * kBlockTokens, n_with_tail);
    return n_with_tail;
  }

  CopyingStore store_;
  BlockPool pool_{16, kBlockTokens, {1, 2}, &store_};
};

TEST_F(SequenceCacheTest, ATextIsFoundToItsEndWhereDecodingHasAPromptsBits) {
  leave(text_of(11), 6, true);
  EXPECT_EQ(pool_.n_free(), pool_.n_blocks());
  EXPECT_EQ(n_found(text_of(20)), 11u);
  EXPECT_EQ(n_found(text_of(6)), 6u) << "and so is the prompt alone";
  EXPECT_EQ(n_found(text_of(20), 5), 0u) << "another salt";
  EXPECT_TRUE(pool_.is_consistent());
}

TEST_F(SequenceCacheTest, APromptAloneIsFoundWhereDecodingHasOtherBits) {
  leave(text_of(11), 6, false);
  EXPECT_EQ(n_found(text_of(20)), 6u);
}

TEST_F(SequenceCacheTest, WhatFollowsOtherBitsIsNotFound) {
  const auto text = text_of(12);
  SequenceCache cache = make();
  ASSERT_TRUE(cache.reserve(12));
  cache.commit(text, 4, true);
  cache.commit(text, 1, false);
  cache.commit(text, 7, true);
  cache.offer_tail(text);
  cache.release();
  EXPECT_EQ(n_found(text), 4u);
}

TEST_F(SequenceCacheTest, AtMostTheLimitIsTaken) {
  leave(text_of(8), 8, true);
  SequenceCache cache = make();
  cache.adopt_blocks(text_of(8), 7);
  EXPECT_EQ(cache.n_computed(), 4u);
  EXPECT_EQ(cache.n_with_tail(text_of(8), 7), 7u) << "the first rows of a whole block";
  EXPECT_TRUE(cache.adopt_tail(text_of(8), 7));
  EXPECT_EQ(cache.n_computed(), 7u);
  EXPECT_EQ(store_.n_copies, 1);
}

TEST_F(SequenceCacheTest, WithoutEnoughBlocksNothingIsLost) {
  SequenceCache first = make(), second = make();
  ASSERT_TRUE(first.reserve(13 * kBlockTokens));
  EXPECT_FALSE(second.reserve(4 * kBlockTokens));
  EXPECT_EQ(second.blocks().size(), 3u);
  first.release();
  EXPECT_TRUE(second.reserve(4 * kBlockTokens));
  second.release();
  EXPECT_EQ(pool_.n_free(), pool_.n_blocks());
}

TEST_F(SequenceCacheTest, WhatWasRolledBackIsComputedAndNamedAsWhatItIsThen) {
  auto text = text_of(6);
  SequenceCache cache = make();
  ASSERT_TRUE(cache.reserve(8));
  cache.commit(text, 6, true);
  cache.rollback(5);
  text[5] = TokenId{99};
  cache.commit(text, 1, true);
  cache.offer_tail(text);
  cache.release();
  EXPECT_EQ(n_found(text), 6u);
  EXPECT_EQ(n_found(text_of(6)), 4u);
}

TEST_F(SequenceCacheTest, MovesWithItsBlocks) {
  SequenceCache from = make();
  ASSERT_TRUE(from.reserve(5));
  from.commit(text_of(5), 5, true);
  SequenceCache to = std::move(from);
  EXPECT_EQ(to.n_computed(), 5u);
  EXPECT_EQ(to.blocks().size(), 2u);
  to = make();
  EXPECT_EQ(pool_.n_free(), pool_.n_blocks());
}

}  // namespace
}  // namespace realizar
