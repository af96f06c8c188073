#include "kv/sequence_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace realizar::kv {
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
  SequenceCache make(uint64_t salt = 0) { return {pool_, salt, 0, 60}; }
  // Computes `text` in chunks and releases the sequence.
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
    EXPECT_GE(cache.table().size() * kBlockTokens, n_with_tail);
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
  EXPECT_EQ(second.table().size(), 3u);
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
  EXPECT_EQ(to.table().size(), 2u);
  to = make();
  EXPECT_EQ(pool_.n_free(), pool_.n_blocks());
}

// One group sees everything, the other has a window of two blocks.
class WindowedCacheTest : public testing::Test {
 protected:
  static constexpr uint32_t kWindow = 8, kMaxPositions = 64;

  void make_pool(uint32_t n_blocks, uint32_t n_slots = 0) {
    pool_.emplace(n_blocks, kBlockTokens, HashKey{1, 2}, &store_, n_slots, std::vector<uint32_t>{0, kWindow});
  }
  SequenceCache make(uint32_t max_rollback = 0) { return {*pool_, 0, 0, kMaxPositions, max_rollback}; }
  static void compute(SequenceCache& cache, const std::vector<TokenId>& text, uint32_t n_rows) {
    while (cache.n_computed() < text.size()) {
      const auto n = std::min(n_rows, static_cast<uint32_t>(text.size()) - cache.n_computed());
      ASSERT_TRUE(cache.reserve(cache.n_computed() + n));
      cache.commit(text, n, true);
    }
  }
  void leave(const std::vector<TokenId>& text, uint32_t n_rows = 5) {
    SequenceCache cache = make();
    compute(cache, text, n_rows);
    cache.offer_tail(text);
  }
  uint32_t n_found(const std::vector<TokenId>& text) {
    SequenceCache cache = make();
    cache.adopt_blocks(text, static_cast<uint32_t>(text.size()));
    cache.adopt_tail(text, static_cast<uint32_t>(text.size()));
    expect_usable(cache);
    return cache.n_computed();
  }
  // All blocks that the next row sees are held, and every entry of a table is one of the sequence's own blocks.
  static void expect_usable(const SequenceCache& cache) {
    const uint32_t pos = cache.n_computed(), first = pos < kWindow ? 0 : (pos + 1 - kWindow) / kBlockTokens;
    EXPECT_GE(cache.held(0).size() * kBlockTokens, pos);
    EXPECT_GE(cache.held(1).size() + first, cache.table(1).size());
    for (const BlockId block : cache.table(1)) {
      EXPECT_NE(std::ranges::find(cache.held(1), block), cache.held(1).end());
    }
  }
  static std::vector<TokenId> with_other_end(std::vector<TokenId> text) {
    for (uint32_t i = 0; i < kBlockTokens; ++i) text.push_back(TokenId{1000});
    return text;
  }

  CopyingStore store_;
  std::optional<BlockPool> pool_;
};

TEST_F(WindowedCacheTest, ALongSequenceHoldsNoMoreThanItsWindowAndItsChunkNeed) {
  make_pool(64);
  for (const uint32_t n_rows : {1u, 3u, 4u, 5u, 9u}) {
    SequenceCache cache = make();
    const auto text = text_of(kMaxPositions - 1);
    const uint32_t most = (kWindow + n_rows - 2) / kBlockTokens + 2;  // positions that begin and end at any row
    EXPECT_EQ(cache.n_missing(kMaxPositions - 1, n_rows),
              kMaxPositions / kBlockTokens + max_blocks_held(kWindow, kMaxPositions - 1, n_rows, kBlockTokens));
    while (cache.n_computed() < text.size()) {
      const auto n = std::min(n_rows, static_cast<uint32_t>(text.size()) - cache.n_computed());
      ASSERT_TRUE(cache.reserve(cache.n_computed() + n));
      EXPECT_LE(cache.held(1).size(), most) << n_rows;
      EXPECT_LE(cache.held(1).size(), max_blocks_held(kWindow, kMaxPositions, n_rows, kBlockTokens));
      EXPECT_EQ(pool_->n_blocks() - pool_->n_free(), cache.held(0).size() + cache.held(1).size());
      cache.commit(text, n, true);
      expect_usable(cache);
    }
    EXPECT_EQ(cache.held(0).size(), kMaxPositions / kBlockTokens);
    EXPECT_LE(cache.held(1).size(), kWindow / kBlockTokens + 1);
    cache.release();
    EXPECT_EQ(pool_->n_free(), pool_->n_blocks());
    EXPECT_TRUE(pool_->is_consistent());
    pool_->forget_names();
  }
}

TEST_F(WindowedCacheTest, APrefixIsFoundWhereverItsWindowIsStillThere) {
  make_pool(64);
  const auto text = text_of(30);
  leave(text);
  EXPECT_EQ(n_found(text), 30u) << "with its tail";
  for (uint32_t n = kBlockTokens; n < 28; n += kBlockTokens) EXPECT_EQ(n_found(with_other_end(text_of(n))), n);
  EXPECT_EQ(pool_->n_free(), pool_->n_blocks());
}

TEST_F(WindowedCacheTest, APrefixWhoseWindowIsGoneIsNotFoundButALongerOneIs) {
  // Eight blocks of 32 positions, and four that the window reuses in turn.
  make_pool(12);
  const auto text = text_of(32);
  leave(text, kBlockTokens);
  EXPECT_EQ(n_found(with_other_end(text_of(12))), 0u);
  EXPECT_EQ(n_found(text), 32u);
  EXPECT_TRUE(pool_->is_consistent());
  EXPECT_EQ(pool_->n_free(), pool_->n_blocks());
}

TEST_F(WindowedCacheTest, ASequenceGoesOnWithWhatIsCachedBehindWhatItHas) {
  make_pool(64);
  const auto text = text_of(32);
  leave(text);
  SequenceCache cache = make();
  cache.adopt_blocks(text, 12);
  EXPECT_EQ(cache.n_computed(), 12u);
  expect_usable(cache);
  cache.adopt_blocks(text, 32);
  EXPECT_EQ(cache.n_computed(), 32u);
  expect_usable(cache);
  EXPECT_EQ(cache.held(1).size(), 2u);
  cache.release();
  EXPECT_EQ(pool_->n_free(), pool_->n_blocks());
}

TEST_F(WindowedCacheTest, ARollbackKeepsWhatItsWindowNeedsOrNothing) {
  make_pool(64);
  const auto text = text_of(40);
  SequenceCache cache = make(6);
  for (uint32_t n = 0; n < 34; ++n) {
    ASSERT_TRUE(cache.reserve(n + 1));
    cache.commit(text, 1, false);
  }
  cache.rollback(28);
  EXPECT_EQ(cache.n_computed(), 28u);
  expect_usable(cache);
  cache.rollback(12);
  EXPECT_EQ(cache.n_computed(), 0u);
  EXPECT_EQ(pool_->n_free(), pool_->n_blocks());
}

TEST_F(WindowedCacheTest, WhereAGroupFindsNoBlockNoneIsTaken) {
  make_pool(5);
  SequenceCache cache = make();
  ASSERT_TRUE(cache.reserve(2 * kBlockTokens));
  EXPECT_FALSE(cache.reserve(3 * kBlockTokens));
  EXPECT_EQ(pool_->n_free(), 1u);
  EXPECT_EQ(cache.table(1).size(), 2u);
}

// Restored blocks take the memory of others, so a block that was found may be gone when its turn comes.
TEST_F(WindowedCacheTest, WhatComesBackFromTheStoreIsWholeOrNotTaken) {
  class SavingStore final : public BlockStore {
   public:
    bool save(BlockId, uint32_t) override { return true; }
    void restore(uint32_t, BlockId) override {}
    void copy(BlockId, BlockId) override {}
  } store;
  for (const uint32_t n_slots : {1u, 3u, 8u, 30u}) {
    pool_.emplace(12, kBlockTokens, HashKey{1, 2}, &store, n_slots, std::vector<uint32_t>{0, kWindow});
    const auto first = text_of(30), second = text_of(30, 100);
    for (int round = 0; round < 3; ++round) {
      leave(first);
      leave(second);
      for (const uint32_t n : {30u, 20u, 9u}) {
        const auto text = with_other_end(text_of(n));
        EXPECT_LE(n_found(text), n);
        EXPECT_TRUE(pool_->is_consistent());
        EXPECT_EQ(pool_->n_free(), pool_->n_blocks());
      }
    }
  }
}

}  // namespace
}  // namespace realizar::kv
