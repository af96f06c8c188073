#include "server/events/kv_batch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/events/msgpack.h"

namespace realizar::server {
namespace {

using Json = nlohmann::json;

const KvLayout kOneGroup{.block_tokens = 1, .windows = {0}, .has_states = false};

TEST(KvBatch, HasTheFormOfVllms) {
  const TokenId token{300};
  KvBatch batch;
  batch.add_stored(~uint64_t{0}, std::nullopt, {&token, 1}, 0);
  batch.add_removed(7, 0);
  const Json message = Json::from_msgpack(batch.take(1.5, kOneGroup));
  const Json expected = Json::parse(R"([1.5, [
    {"type": "BlockStored", "block_hashes": [18446744073709551615], "parent_block_hash": null, "token_ids": [300],
     "block_size": 1, "lora_id": null, "medium": "GPU", "lora_name": null, "group_idx": 0,
     "kv_cache_spec_kind": "full_attention"},
    {"type": "BlockRemoved", "block_hashes": [7], "medium": "GPU", "group_idx": 0}], 0])");
  EXPECT_EQ(message, expected);
  EXPECT_TRUE(batch.is_empty());
  batch.add_removed(7, 0);
  batch.add_cleared();
  EXPECT_EQ(Json::from_msgpack(batch.take(0, kOneGroup))[1], Json::parse(R"([{"type": "AllBlocksCleared"}])"))
      << "what came before is of no interest";
}

TEST(KvBatch, IsCutIntoMessages) {
  const TokenId token{1};
  for (const uint64_t n_blocks : {KvBatch::kMaxBlocks, KvBatch::kMaxBlocks + 1, 3 * KvBatch::kMaxBlocks}) {
    KvBatch batch;
    for (uint64_t hash = 1; hash <= n_blocks; ++hash) {
      batch.add_stored(hash, hash == 1 ? std::nullopt : std::optional(hash - 1), {&token, 1}, 0);
    }
    uint64_t next = 1;
    for (; !batch.is_empty();) {
      const Json message = Json::from_msgpack(batch.take(0, kOneGroup));
      ASSERT_EQ(message[1].size(), 1u);
      const Json& event = message[1][0];
      EXPECT_LE(event["block_hashes"].size(), KvBatch::kMaxBlocks);
      EXPECT_EQ(event["token_ids"].size(), event["block_hashes"].size());
      EXPECT_EQ(event["parent_block_hash"], next == 1 ? Json() : Json(next - 1));
      for (const Json& hash : event["block_hashes"]) EXPECT_EQ(hash, next++);
    }
    EXPECT_EQ(next, n_blocks + 1);
  }
}

// The reader is another library's.
TEST(Msgpack, WritesWhatOthersRead) {
  for (int bits = 0; bits <= 64; ++bits) {
    const uint64_t top = bits == 0 ? 0 : ~uint64_t{0} >> (64 - bits);
    for (const uint64_t value : {top, top + 1, top / 2 + 1}) {
      std::string out;
      msgpack::append_unsigned(out, value);
      EXPECT_EQ(Json::from_msgpack(out), Json(value));
    }
  }
  for (const size_t n : {0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536}) {
    std::string text, array;
    msgpack::append_text(text, std::string(n, 'x'));
    EXPECT_EQ(Json::from_msgpack(text), Json(std::string(n, 'x')));
    msgpack::begin_array(array, static_cast<uint32_t>(n));
    for (size_t i = 0; i < n; ++i) msgpack::append_nil(array);
    EXPECT_EQ(Json::from_msgpack(array), Json(std::vector<std::nullptr_t>(n)));
  }
  std::string map;
  msgpack::begin_map(map, 20);
  for (char key = 'a'; key < 'a' + 20; ++key) {
    msgpack::append_text(map, {&key, 1});
    msgpack::append_number(map, -0.25);
  }
  EXPECT_EQ(Json::from_msgpack(map).size(), 20u);
  EXPECT_EQ(Json::from_msgpack(map)["t"], Json(-0.25));
}

}  // namespace
}  // namespace realizar::server
