#include "kv/state_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kv/sequence_cache.h"

namespace realizar::kv {
namespace {

// Sequences of a model with recurrent layers. The test records a slot's content as the positions after which it was
// written.
class StatesTest : public testing::Test {
 protected:
  static std::vector<TokenId> text_of(uint32_t n, int first = 1) {
    std::vector<TokenId> text;
    for (uint32_t i = 0; i < n; ++i) text.push_back(TokenId{first + static_cast<int>(i)});
    return text;
  }
  SequenceCache make() { return {{blocks_, &states_}, 0, 0, 200}; }
  // Runs a step, which reads what the previous one wrote.
  void step(SequenceCache& cache, const std::vector<TokenId>& text, uint32_t n_new, bool as_prompt = true,
            bool keeps_state = false) {
    ASSERT_TRUE(cache.reserve(cache.n_computed() + n_new));
    write(cache, cache.n_computed() + n_new);
    cache.commit(text, n_new, as_prompt, keeps_state);
  }
  void write(const SequenceCache& cache, uint32_t n_positions) {
    if (cache.n_computed() > 0) {
      EXPECT_EQ(written_[to_index(cache.states().from())], cache.n_computed());
    }
    written_[to_index(cache.states().to())] = n_positions;
  }
  // Computes a prompt in chunks like those of a planner.
  void prefill(SequenceCache& cache, const std::vector<TokenId>& text, uint32_t n_prompt, uint32_t max_rows = 64) {
    while (cache.n_computed() < n_prompt) {
      const uint32_t stop = cache.next_stop(n_prompt);
      const uint32_t n = std::min(stop - cache.n_computed(), max_rows);
      step(cache, text, n, true, cache.n_computed() + n == stop);
    }
  }
  uint32_t n_found(const std::vector<TokenId>& text) {
    SequenceCache cache = make();
    const auto limit = static_cast<uint32_t>(text.size());
    cache.adopt_blocks(text, limit);
    EXPECT_EQ(cache.n_with_tail(text, limit), cache.n_computed());
    if (cache.n_computed() > 0) {
      EXPECT_EQ(written_[to_index(*cache.states().slot())], cache.n_computed());
    }
    return cache.n_computed();
  }
  void expect_all_free() {
    EXPECT_EQ(states_.n_free(), states_.n_blocks());
    EXPECT_EQ(blocks_.n_free(), blocks_.n_blocks());
    EXPECT_TRUE(states_.is_consistent());
  }

  BlockPool blocks_{60, 4, {1, 2}};
  BlockPool states_{6, 4, {1, 2}};
  std::vector<uint32_t> written_ = std::vector<uint32_t>(6);
};

TEST_F(StatesTest, APromptsChunksEndWhereStatesStay) {
  const auto text = text_of(150);
  SequenceCache cache = make();
  std::vector<uint32_t> ends;
  while (cache.n_computed() < 150) {
    ends.push_back(cache.next_stop(150));
    step(cache, text, ends.back() - cache.n_computed());
  }
  EXPECT_EQ(ends, (std::vector<uint32_t>{64, 128, 148, 150}));
  EXPECT_EQ(make().next_stop(8), 4u) << "the last token is computed anyway";
  EXPECT_EQ(make().next_stop(4), 4u);
  EXPECT_EQ(make().next_stop(1), 1u);
}

TEST_F(StatesTest, APrefixIsFoundWhereAStateComesAfterIt) {
  const auto text = text_of(100);
  for (const uint32_t max_rows : {64u, 7u, 1u}) {
    SequenceCache cache = make();
    prefill(cache, text, 90, max_rows);
    cache.release();
    EXPECT_EQ(n_found(text), 88u);
    EXPECT_EQ(n_found(text_of(90)), 88u);
    EXPECT_EQ(n_found(text_of(80)), 64u) << "blocks up to 80 are there, and no state";
    EXPECT_EQ(n_found(text_of(63)), 0u);
    expect_all_free();
    blocks_.forget_names();
    states_.forget_names();
  }
}

TEST_F(StatesTest, AStateThatCanBeFoundIsNotWritten) {
  const auto text = text_of(60);
  SequenceCache first = make();
  prefill(first, text, 30);
  SequenceCache second = make(), third = make();
  for (SequenceCache* cache : {&second, &third}) {
    cache->adopt_blocks(text, 60);
    ASSERT_EQ(cache->n_computed(), 28u);
  }
  EXPECT_EQ(second.states().slot(), third.states().slot()) << "which is shared, not copied";
  auto others = text;
  others[30] = TokenId{99};
  step(second, text, 10);
  step(third, others, 5);
  step(second, text, 10);
  step(third, others, 5);
  EXPECT_EQ(n_found(text_of(30)), 28u);
  for (SequenceCache* cache : {&first, &second, &third}) cache->release();
  expect_all_free();
}

TEST_F(StatesTest, AStepWritesInPlaceWhereNobodyElseHasTheState) {
  const auto text = text_of(60);
  SequenceCache cache = make();
  step(cache, text, 5);
  const auto slot = cache.states().slot();
  step(cache, text, 1, false);
  EXPECT_EQ(cache.states().slot(), slot);
  EXPECT_EQ(states_.n_free(), states_.n_blocks() - 1);
}

// A state that another sequence has adopted loses its name while a step that reads it runs.
TEST_F(StatesTest, WhereAStepWritesIsDecidedBeforeItRuns) {
  const auto text = text_of(60);
  SequenceCache first = make();
  step(first, text, 4);
  SequenceCache second = make();
  second.adopt_blocks(text, 60);
  ASSERT_EQ(second.n_computed(), 4u);
  ASSERT_TRUE(second.reserve(5));
  write(second, 5);
  step(first, text, 4);
  second.commit(text, 1, true);
  EXPECT_EQ(written_[to_index(*second.states().slot())], 5u);
}

TEST_F(StatesTest, OfStatesInPassingTheLastOneIsFound) {
  const auto text = text_of(60);
  SequenceCache cache = make();
  prefill(cache, text, 10);
  for (int i = 0; i < 20; ++i) step(cache, text, 1);
  cache.release();
  EXPECT_EQ(n_found(text), 28u);
  EXPECT_EQ(n_found(text_of(27)), 8u) << "the prompt's";
  EXPECT_EQ(states_.name_counts().n_named, 2u);
  EXPECT_EQ(states_.name_counts().n_evicted, 0u) << "those in passing take no other's slot";
}

TEST_F(StatesTest, PositionsOfOtherBitsLeaveNoState) {
  const auto text = text_of(60);
  SequenceCache cache = make();
  prefill(cache, text, 10);
  for (int i = 0; i < 20; ++i) step(cache, text, 1, false);
  cache.release();
  EXPECT_EQ(n_found(text), 8u);
}

TEST_F(StatesTest, WhereTextsPartAStateStaysTheSecondTime) {
  auto text = text_of(60), other = text, third = text;
  other[30] = TokenId{99}, third[29] = TokenId{77};
  for (const auto& [own, n_expected] : {std::pair(&text, 0u), {&other, 0u}, {&third, 28u}}) {
    SequenceCache cache = make();
    cache.adopt_blocks(*own, 59);
    EXPECT_EQ(cache.n_computed(), n_expected);
    prefill(cache, *own, 60);
  }
}

TEST_F(StatesTest, TheLeastRecentlyUsedStateGoesFirst) {
  std::vector<std::vector<TokenId>> texts;
  for (int i = 0; i < 6; ++i) texts.push_back(text_of(10, 1 + 20 * i));
  for (const auto& text : texts) {
    SequenceCache cache = make();
    prefill(cache, text, 10);
  }
  EXPECT_EQ(n_found(texts[0]), 0u);
  EXPECT_EQ(n_found(texts[1]), 8u);
  expect_all_free();
}

TEST_F(StatesTest, ARollbackGoesBackToTheMark) {
  const auto text = text_of(60);
  SequenceCache cache = make();
  prefill(cache, text, 10);
  cache.mark();
  ASSERT_TRUE(cache.reserve(14));
  write(cache, 14);
  for (int i = 0; i < 2; ++i) cache.commit(text, 1, false);
  cache.rollback(cache.n_computed());
  EXPECT_EQ(cache.n_computed(), 10u) << "two rows of four were right, and are computed again";
  step(cache, text, 3, false);
  EXPECT_EQ(cache.n_computed(), 13u);

  cache.mark();
  step(cache, text, 3, false);
  cache.rollback(cache.n_computed());
  EXPECT_EQ(cache.n_computed(), 16u) << "all were right";
  cache.rollback(12);
  EXPECT_EQ(cache.n_computed(), 0u) << "before the mark there is none";
  EXPECT_EQ(states_.n_free(), states_.n_blocks());
}

TEST_F(StatesTest, ASequenceHoldsNoMoreSlotsThanItSays) {
  const auto text = text_of(100);
  SequenceCache cache = make();
  prefill(cache, text, 9);
  for (uint32_t i = 0; i < 60; ++i) {
    // a step with speculative tokens ends with its block
    const uint32_t n_rows = std::min(1 + i % 3, 4 - cache.n_computed() % 4);
    n_rows == 1 ? cache.drop_mark() : cache.mark();
    step(cache, text, n_rows);
    EXPECT_LE(states_.n_blocks() - states_.n_free(), kMaxStatesHeld);
    if (i % 5 == 2 && n_rows > 1 && cache.n_computed() % 4 > 0) cache.rollback(cache.n_computed() - 1);
    ASSERT_GE(cache.n_computed(), 9u);
  }
}

TEST_F(StatesTest, MovesWithItsSlots) {
  const auto text = text_of(20);
  SequenceCache from = make();
  step(from, text, 5);
  SequenceCache to = std::move(from);
  EXPECT_EQ(to.states().n_positions(), 5u);
  from = make();
  to.release();
  expect_all_free();
}

TEST_F(StatesTest, WithoutAFreeSlotThereIsNoRoom) {
  std::vector<SequenceCache> caches;
  for (int i = 0; i < 6; ++i) {
    caches.push_back(make());
    step(caches.back(), text_of(5), 5);
  }
  SequenceCache cache = make();
  EXPECT_FALSE(cache.reserve(5));
  caches.pop_back();
  EXPECT_TRUE(cache.reserve(5));
}

}  // namespace
}  // namespace realizar::kv
