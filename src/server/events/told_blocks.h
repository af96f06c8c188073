// Blocks that subscribers have been told of, and those that they may be told of: blocks of texts that begin at one
// of the known roots, which are those of requests without an adapter and without a cache_salt of their own. Others have
// hashes that lead to no root, and the format has no place where a router would learn what tells them apart. A block is
// told after the one before it, since llm-d drops those that follow a block which it does not know; so a block whose
// beginning is not there waits for it. Each block of a group is told once, and taken back once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/block_events.h"
#include "server/events/kv_batch.h"

namespace realizar::server {

class ToldBlocks {
 public:
  // `roots`: hashes to which the first blocks of texts are chained.
  explicit ToldBlocks(std::vector<uint64_t> roots) : roots_(std::move(roots)) {}

  // Adds what subscribers are told of it.
  void apply(const engine::BlockEvent& event, KvBatch& batch);

 private:
  // The blocks of all groups that hold the same tokens after the same text.
  struct Block {
    uint64_t parent_hash = 0;
    std::vector<uint32_t> groups;
    bool is_told = false;
    std::vector<TokenId> tokens;  // until it is told
  };

  bool is_root(uint64_t hash) const;
  bool may_tell(uint64_t parent_hash) const;
  void add(const engine::BlockEvent& event, KvBatch& batch);
  void tell(uint64_t hash, KvBatch& batch);
  void tell_waiting(uint64_t hash, KvBatch& batch);
  void remove(uint64_t hash, uint32_t group, KvBatch& batch);

  const std::vector<uint64_t> roots_;
  std::unordered_map<uint64_t, Block> blocks_;
  std::unordered_multimap<uint64_t, uint64_t> waiting_;  // by the parent's hash
};

}  // namespace realizar::server
