// The blocks that subscribers know, and those that can be published: blocks of texts that begin at one of the known
// roots, which are the roots of requests without an adapter and without a cache_salt. Other blocks have hashes that
// lead to no root, and the format has no field for what distinguishes them. A block is published after
// its parent, since llm-d drops blocks whose parent it does not know; so a block without its parent waits for it. Each
// block of a group is published once, and removed once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/block_events.h"
#include "server/events/kv_batch.h"

namespace realizar::server {

class ToldBlocks {
 public:
  // `roots`: the parent hashes of the first blocks of texts.
  explicit ToldBlocks(std::vector<uint64_t> roots) : roots_(std::move(roots)) {}

  // Adds the events to publish.
  void apply(const engine::BlockEvent& event, KvBatch& batch);

 private:
  // The blocks of all groups with the same tokens after the same text.
  struct Block {
    uint64_t parent_hash = 0;
    std::vector<uint32_t> groups;
    bool is_told = false;
    std::vector<TokenId> tokens;  // until published
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
