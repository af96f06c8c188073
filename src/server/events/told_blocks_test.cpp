#include "server/events/told_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace realizar::server {
namespace {

using engine::BlockEvent;
using Json = nlohmann::json;

constexpr uint64_t kRoot = 1000, kOtherRoot = 2000;
const KvLayout kThreeGroups{.block_tokens = 2, .windows = {0, 8}, .has_states = true};

// A subscriber that checks that the publisher keeps to the format.
class Subscriber {
 public:
  void read(KvBatch& batch) {
    while (!batch.is_empty()) {
      const Json message = Json::from_msgpack(batch.take(0, kThreeGroups));
      for (const Json& event : message[1]) read(event);
    }
  }

  std::set<std::pair<uint64_t, uint64_t>> known;  // hash and group

 private:
  void read(const Json& event) {
    if (event["type"] == "AllBlocksCleared") {
      known.clear();
      return;
    }
    const auto hashes = event["block_hashes"].get<std::vector<uint64_t>>();
    const auto group = event["group_idx"].get<uint64_t>();
    Json parent = event["type"] == "BlockStored" ? event["parent_block_hash"] : Json();
    for (const uint64_t hash : hashes) {
      if (event["type"] == "BlockRemoved") {
        EXPECT_EQ(known.erase({hash, group}), 1u);
        continue;
      }
      EXPECT_TRUE(known.emplace(hash, group).second) << "told once";
      parent = hash;
    }
    if (event["type"] == "BlockStored") {
      EXPECT_EQ(event["token_ids"].size(), hashes.size() * 2);
    }
  }
};

BlockEvent named(uint64_t hash, uint64_t parent, uint32_t group = 0) {
  static const std::vector<TokenId> kTokens{TokenId{1}, TokenId{2}};
  return {BlockEvent::Kind::kNamed, group, hash, parent, kTokens};
}

BlockEvent forgotten(uint64_t hash, uint32_t group = 0) {
  return {BlockEvent::Kind::kForgotten, group, hash, 0, {}};
}

Json told(ToldBlocks& blocks, const std::vector<BlockEvent>& events) {
  KvBatch batch;
  for (const BlockEvent& event : events) blocks.apply(event, batch);
  return batch.is_empty() ? Json::array() : Json::from_msgpack(batch.take(0, kThreeGroups))[1];
}

TEST(ToldBlocks, ATextIsOneEvent) {
  ToldBlocks blocks({kRoot});
  const Json events = told(blocks, {named(1, kRoot), named(2, 1), named(3, 2)});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["block_hashes"], Json({1, 2, 3}));
  EXPECT_TRUE(events[0]["parent_block_hash"].is_null()) << "it begins there";
  EXPECT_EQ(events[0]["token_ids"], Json({1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(events[0]["block_size"], 2);
  EXPECT_EQ(told(blocks, {named(4, 2)})[0]["parent_block_hash"], 2);
}

TEST(ToldBlocks, TextsOfOtherRootsAreNotTold) {
  ToldBlocks blocks({kRoot});
  EXPECT_TRUE(told(blocks, {named(1, kOtherRoot), named(2, 1), forgotten(1), forgotten(2)}).empty());
}

TEST(ToldBlocks, ABlockWaitsForTheOneBeforeIt) {
  ToldBlocks blocks({kRoot});
  EXPECT_TRUE(told(blocks, {named(3, 2), named(2, 1), named(4, 3), forgotten(4)}).empty());
  EXPECT_EQ(told(blocks, {named(1, kRoot)})[0]["block_hashes"], Json({1, 2, 3}));
}

TEST(ToldBlocks, WhatComesBackIsToldAgainWithoutWhatStayed) {
  ToldBlocks blocks({kRoot});
  told(blocks, {named(1, kRoot), named(2, 1)});
  EXPECT_EQ(told(blocks, {forgotten(1)})[0]["block_hashes"], Json({1}));
  EXPECT_TRUE(told(blocks, {named(5, 1)}).empty()) << "its beginning is not there";
  const Json events = told(blocks, {named(1, kRoot)});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["block_hashes"], Json({1, 5}));
}

TEST(ToldBlocks, EachGroupOfLayersIsToldOfItsOwn) {
  ToldBlocks blocks({kRoot});
  const Json events = told(blocks, {named(1, kRoot, 0), named(1, kRoot, 1), named(1, kRoot, 2)});
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["kv_cache_spec_kind"], "full_attention");
  EXPECT_EQ(events[1]["kv_cache_spec_kind"], "sliding_window");
  EXPECT_EQ(events[1]["kv_cache_spec_sliding_window"], 8);
  EXPECT_EQ(events[2]["kv_cache_spec_kind"], "mamba");
  EXPECT_EQ(told(blocks, {forgotten(1, 1)})[0]["group_idx"], 1);
  EXPECT_EQ(told(blocks, {named(2, 1, 0)}).size(), 1u) << "its beginning is there in another group";
}

// Blocks of a tree of texts come and go in any order. A subscriber knows a block if its parent was known when it was
// published or became known later, and gets each block only once.
TEST(ToldBlocks, ASubscriberKnowsWhatCanBeFoundUnderRandomUse) {
  std::mt19937 random(2);
  ToldBlocks blocks({kRoot});
  Subscriber subscriber;
  KvBatch batch;
  std::map<uint64_t, std::set<uint32_t>> there;  // groups of each hash
  const auto parent_of = [](uint64_t hash) { return hash < 4 ? (hash == 3 ? kOtherRoot : kRoot) : hash / 2; };
  for (int step = 0; step < 20000; ++step) {
    const uint64_t hash = 1 + random() % 60;
    const uint32_t group = random() % 2;
    if (there[hash].insert(group).second) {
      blocks.apply(named(hash, parent_of(hash), group), batch);
    } else {
      there[hash].erase(group);
      blocks.apply(forgotten(hash, group), batch);
    }
    if (random() % 500 == 0) {
      there.clear();
      blocks.apply({BlockEvent::Kind::kAllForgotten, 0, 0, 0, {}}, batch);
    }
    if (random() % 3 == 0) subscriber.read(batch);
    if (random() % 10 > 0) continue;
    subscriber.read(batch);
    for (const auto& [known, known_group] : subscriber.known) {
      EXPECT_TRUE(there[known].contains(static_cast<uint32_t>(known_group)));
    }
    for (const auto& [held, groups] : there) {
      bool is_found = true;
      for (uint64_t at = held; at < kRoot; at = parent_of(at)) is_found = is_found && !there[at].empty();
      uint64_t first = held;
      while (first >= 4) first /= 2;
      for (const uint32_t held_group : groups) {
        const bool is_known = subscriber.known.contains({held, held_group});
        EXPECT_TRUE(is_known || !is_found || first == 3) << held;
        EXPECT_FALSE(is_known && first == 3) << held;
      }
    }
  }
}

}  // namespace
}  // namespace realizar::server
