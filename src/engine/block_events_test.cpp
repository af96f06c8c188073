#include "engine/block_events.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace realizar::engine {
namespace {

using Kind = BlockEvent::Kind;
using Names = std::set<std::pair<uint64_t, uint32_t>>;  // hash and group

// A reader's view of the cache.
class Reading {
 public:
  explicit Reading(BlockEvents& events) : events_(events) {}

  void read_all() {
    for (; const BlockEvent* event = events_.front(); events_.pop()) {
      if (event->kind == Kind::kNamed) names.emplace(event->hash, event->group);
      if (event->kind == Kind::kForgotten) names.erase({event->hash, event->group});
      if (event->kind == Kind::kAllForgotten || event->kind == Kind::kToldAnew) names.clear();
      n_told_anew += event->kind == Kind::kToldAnew ? 1 : 0;
    }
  }

  Names names;
  int n_told_anew = 0;

 private:
  BlockEvents& events_;
};

Names names_of(const kv::BlockPool& pool, uint32_t first_group = 0) {
  Names names;
  for (const BlockId block : pool.all_with_names()) {
    const auto name = pool.name_of(block);
    if (name.tokens.size() == pool.block_tokens()) names.emplace(name.hash, first_group + name.group);
  }
  return names;
}

// Names a block that holds one token.
uint64_t name_after(kv::BlockPool& pool, BlockId block, int token) {
  uint64_t hash = pool.root_hash(0);
  const TokenId id{token};
  pool.name_blocks({&block, 1}, {&id, 1}, 0, hash);
  return hash;
}

TEST(BlockEvents, BeginWithWhatIsNamedThen) {
  kv::BlockPool pool(3, 1, {1, 2});
  const uint64_t before = name_after(pool, *pool.allocate(), 1);
  BlockEvents events(pool);
  events.begin();
  ASSERT_NE(events.front(), nullptr);
  EXPECT_EQ(events.front()->kind, Kind::kToldAnew);
  events.pop();
  ASSERT_NE(events.front(), nullptr);
  EXPECT_EQ(events.front()->hash, before);
  EXPECT_EQ(events.front()->parent_hash, pool.root_hash(0));
  ASSERT_EQ(events.front()->tokens.size(), 1u);
  EXPECT_EQ(events.front()->tokens[0], TokenId{1});
  events.pop();
  EXPECT_EQ(events.front(), nullptr);
  EXPECT_FALSE(events.take_wish());
  const uint64_t after = name_after(pool, *pool.allocate(), 2);
  ASSERT_NE(events.front(), nullptr);
  EXPECT_EQ(events.front()->hash, after);
}

TEST(BlockEvents, TheirEndComesAfterTheLastOfThem) {
  kv::BlockPool pool(2, 1, {1, 2});
  BlockEvents events(pool);
  events.begin();
  events.end();
  EXPECT_FALSE(events.has_ended()) << "there is something to read";
  events.pop();
  EXPECT_TRUE(events.has_ended());
  name_after(pool, *pool.allocate(), 1);
  EXPECT_EQ(events.front(), nullptr) << "nobody observes the pool any more";
}

TEST(BlockEvents, StatesAreTheGroupAfterThoseOfBlocks) {
  kv::BlockPool blocks(2, 1, {1, 2}, nullptr, 0, {0, 8}), states(2, 1, {1, 2});
  BlockEvents events({blocks, &states});
  events.begin();
  events.pop();
  const uint64_t hash = name_after(states, *states.allocate(), 1);
  ASSERT_NE(events.front(), nullptr);
  EXPECT_EQ(std::pair(events.front()->hash, events.front()->group), std::pair(hash, 2u));
  events.pop();
  blocks.forget_names();
  states.forget_names();
  ASSERT_NE(events.front(), nullptr);
  EXPECT_EQ(events.front()->kind, Kind::kAllForgotten);
  events.pop();
  EXPECT_EQ(events.front(), nullptr) << "once for both";
}

class AnyStore final : public kv::BlockStore {
 public:
  bool save(BlockId, uint32_t) override { return true; }
  void restore(uint32_t, BlockId) override {}
  void copy(BlockId, BlockId) override {}
};

// The reader pauses now and then, so that the ring overflows.
TEST(BlockEvents, AfterALossAllIsToldAnew) {
  std::mt19937 random(5);
  AnyStore store;
  kv::BlockPool blocks(40, 1, {1, 2}, &store, 10), states(10, 1, {1, 2});
  BlockEvents events({blocks, &states}, 16);
  events.begin();
  Reading reading(events);
  int next = 0;
  for (int round = 0; round < 300; ++round) {
    for (uint32_t n = random() % 30; n > 0; --n) {
      kv::BlockPool& pool = random() % 4 == 0 ? states : blocks;
      const BlockId block = *pool.allocate();
      name_after(pool, block, next++);
      pool.release(block);
    }
    if (random() % 50 == 0) {
      blocks.forget_names();
      states.forget_names();
    }
    if (random() % 3 == 0) events.tell_some();
    if (random() % 40 == 0) events.tell_anew();
    if (random() % 4 > 0) continue;
    reading.read_all();
    for (int i = 0; events.take_wish(); ++i) {
      ASSERT_LT(i, 100) << "it comes to an end";
      events.tell_some();
      reading.read_all();
    }
    Names expected = names_of(blocks);
    expected.merge(names_of(states, 1));
    ASSERT_EQ(reading.names, expected) << round;
  }
  EXPECT_GT(reading.n_told_anew, 10);
}

TEST(BlockEvents, AReaderOnAnotherThreadEndsWithWhatThereIs) {
  kv::BlockPool pool(64, 1, {1, 2});
  BlockEvents events(pool, 32);
  events.begin();
  std::atomic<bool> is_done{false};
  std::atomic<int> n_asked{0}, n_answered{0};  // an answer counts when its events are there
  Reading reading(events);
  std::thread reader([&] {
    while (true) {
      const bool was_done = is_done;
      reading.read_all();
      if (events.take_wish()) {
        ++n_asked;
      } else if (was_done && n_asked == n_answered && events.front() == nullptr) {
        break;
      }
      std::this_thread::yield();
    }
  });
  const auto answer = [&] {
    const int n = n_asked;
    if (n == n_answered) return;
    events.tell_some();
    n_answered = n;
  };
  for (int i = 0; i < 20000; ++i) {
    const BlockId block = *pool.allocate();
    name_after(pool, block, i);
    pool.release(block);
    answer();
  }
  is_done = true;
  std::atomic<bool> is_over{false};
  std::thread waiting([&] {
    reader.join();
    is_over = true;
  });
  while (!is_over) {
    answer();
    std::this_thread::yield();
  }
  waiting.join();
  EXPECT_EQ(reading.names, names_of(pool));
}

}  // namespace
}  // namespace realizar::engine
