#include "server/events/told_blocks.h"

#include <algorithm>
#include <optional>

namespace realizar::server {

using engine::BlockEvent;

void ToldBlocks::apply(const BlockEvent& event, KvBatch& batch) {
  switch (event.kind) {
    case BlockEvent::Kind::kNamed:
      return add(event, batch);
    case BlockEvent::Kind::kForgotten:
      return remove(event.hash, event.group, batch);
    case BlockEvent::Kind::kAllForgotten:
    case BlockEvent::Kind::kToldAnew:
      blocks_.clear();
      waiting_.clear();
      batch.add_cleared();
  }
}

bool ToldBlocks::is_root(uint64_t hash) const {
  return std::ranges::find(roots_, hash) != roots_.end();
}

bool ToldBlocks::may_tell(uint64_t parent_hash) const {
  const auto parent = blocks_.find(parent_hash);
  return is_root(parent_hash) || (parent != blocks_.end() && parent->second.is_told);
}

void ToldBlocks::add(const BlockEvent& event, KvBatch& batch) {
  const auto [entry, is_new] = blocks_.try_emplace(event.hash);
  Block& block = entry->second;
  if (std::ranges::find(block.groups, event.group) != block.groups.end()) return;
  block.groups.push_back(event.group);
  if (block.is_told) {
    const auto parent = is_root(block.parent_hash) ? std::nullopt : std::optional(block.parent_hash);
    return batch.add_stored(event.hash, parent, event.tokens, event.group);
  }
  if (!is_new) return;
  block.parent_hash = event.parent_hash;
  block.tokens.assign(event.tokens.begin(), event.tokens.end());
  may_tell(event.parent_hash) ? tell_waiting(event.hash, batch)
                              : static_cast<void>(waiting_.emplace(event.parent_hash, event.hash));
}

void ToldBlocks::tell(uint64_t hash, KvBatch& batch) {
  Block& block = blocks_.at(hash);
  const auto parent = is_root(block.parent_hash) ? std::nullopt : std::optional(block.parent_hash);
  for (const uint32_t group : block.groups) batch.add_stored(hash, parent, block.tokens, group);
  block.is_told = true;
  block.tokens = {};
}

// Publishes the block and those that wait for it, each after its parent.
void ToldBlocks::tell_waiting(uint64_t hash, KvBatch& batch) {
  std::vector<uint64_t> ahead{hash};
  while (!ahead.empty()) {
    const uint64_t next = ahead.back();
    ahead.pop_back();
    tell(next, batch);
    const auto [begin, end] = waiting_.equal_range(next);
    for (auto child = begin; child != end; ++child) ahead.push_back(child->second);
    waiting_.erase(begin, end);
  }
}

void ToldBlocks::remove(uint64_t hash, uint32_t group, KvBatch& batch) {
  const auto entry = blocks_.find(hash);
  if (entry == blocks_.end() || std::erase(entry->second.groups, group) == 0) return;
  const Block& block = entry->second;
  if (block.is_told) batch.add_removed(hash, group);
  if (!block.groups.empty()) return;
  const auto [begin, end] = waiting_.equal_range(block.parent_hash);
  const auto waits = std::find_if(begin, end, [&](const auto& child) { return child.second == hash; });
  if (!block.is_told && waits != end) waiting_.erase(waits);
  blocks_.erase(entry);
}

}  // namespace realizar::server
