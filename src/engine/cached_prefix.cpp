#include "engine/cached_prefix.h"

#include <algorithm>

#include "backend/backend.h"
#include "base/check.h"

namespace realizar::engine {
namespace {

// Calls visit(block, parent_hash, hash, own) for each block of the tokens; the last one may be shorter.
template <class Visit>
void for_each_block(const kv::BlockPool& pool, std::span<const TokenId> tokens, uint64_t cache_salt,
                    const Visit& visit) {
  uint64_t parent_hash = pool.root_hash(cache_salt);
  for (uint32_t block = 0; !tokens.empty(); ++block) {
    const auto own = tokens.first(std::min<size_t>(tokens.size(), pool.block_tokens()));
    const uint64_t hash = pool.hash_after(parent_hash, own);
    if (!visit(block, parent_hash, hash, own)) return;
    parent_hash = hash;
    tokens = tokens.subspan(own.size());
  }
}

// The name of the last token's block, which also names the state.
kv::BlockPool::Name last_name(const kv::BlockPool& pool, std::span<const TokenId> tokens, uint64_t cache_salt) {
  kv::BlockPool::Name name{};
  for_each_block(pool, tokens, cache_salt, [&](uint32_t, uint64_t parent, uint64_t hash, auto own) {
    name = {parent, hash, 0, own};
    return true;
  });
  return name;
}

}  // namespace

HeldPrefix::HeldPrefix(kv::CachePools pools, const Backend& backend, std::span<const TokenId> tokens,
                       uint64_t cache_salt)
    : backend_(&backend), cache_(pools, cache_salt, 0, static_cast<uint32_t>(tokens.size())) {
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  cache_.adopt_blocks(tokens, n_tokens);
  cache_.adopt_tail(tokens, n_tokens);
  tokens_.assign(tokens.begin(), tokens.begin() + cache_.n_computed());
  for (uint32_t group = 0; group < pools.blocks->n_groups(); ++group) {
    const auto held = cache_.held(group);
    const size_t first = cache_.table(group).size() - held.size();
    blocks_.insert(blocks_.end(), held.begin(), held.end());
    for_each_block(*pools.blocks, tokens_, cache_salt, [&](uint32_t block, uint64_t parent, uint64_t hash, auto own) {
      if (block < first) return true;
      names_.push_back({parent, hash, 0, own, pools.blocks->n_short_tokens(hash, own, group), group});
      return true;
    });
  }
  const bool has_state = !tokens_.empty() && cache_.has_states() && cache_.states().slot().has_value();
  if (has_state) names_.push_back(last_name(*pools.blocks, tokens_, cache_salt));
}

void HeldPrefix::read(uint64_t piece, std::span<std::byte> bytes) const {
  if (piece < blocks_.size()) return backend_->read_block(blocks_[piece], bytes);
  backend_->read_state(StateId{to_index(*cache_.states().slot())}, bytes);
}

// Releases the last blocks first, so that the beginning of a text stays cached longest.
NewPrefix::~NewPrefix() {
  if (state_) pools_.states->release(*state_);
  for (size_t i = taken_.size(); i-- > 0;) pools_.blocks->release(taken_[i].block);
}

bool NewPrefix::add_block(uint32_t group, uint32_t n_short_tokens, std::span<const std::byte> bytes) {
  REQUIRE(group < pools_.blocks->n_groups());
  const auto block = pools_.blocks->allocate();
  if (!block) return false;
  taken_.push_back({*block, group, n_short_tokens});
  backend_.write_block(*block, bytes);
  return true;
}

bool NewPrefix::add_state(std::span<const std::byte> bytes) {
  REQUIRE(pools_.states != nullptr && !state_);
  state_ = pools_.states->allocate();
  if (state_) backend_.write_state(StateId{to_index(*state_)}, bytes);
  return state_.has_value();
}

// A name that another sequence has assigned in the meantime stays, and the copy here is released.
void NewPrefix::name(uint64_t cache_salt, uint64_t owner) {
  const uint32_t block_tokens = pools_.blocks->block_tokens();
  const size_t n_blocks = (tokens_.size() + block_tokens - 1) / block_tokens;
  for (auto next = taken_.begin(); next != taken_.end();) {
    const uint32_t group = next->group;
    const auto end = std::find_if(next, taken_.end(), [&](const Taken& taken) { return taken.group != group; });
    const size_t n_left = n_blocks - std::min(n_blocks, static_cast<size_t>(end - next));
    for_each_block(*pools_.blocks, tokens_, cache_salt, [&](uint32_t block, uint64_t parent, uint64_t hash, auto own) {
      if (block < n_left) return true;
      pools_.blocks->restore_name(next->block, {parent, hash, owner, own, next->n_short_tokens, group});
      ++next;
      return true;
    });
    next = end;
  }
  if (!state_ || tokens_.empty()) return;
  kv::BlockPool::Name name = last_name(*pools_.blocks, tokens_, cache_salt);
  name.owner = owner;
  pools_.states->restore_name(*state_, name);
}

// Tails are forgotten first; there may be several, each shorter than the one before.
uint32_t forget_prefix(kv::CachePools pools, std::span<const TokenId> tokens, uint64_t cache_salt) {
  kv::BlockPool& pool = *pools.blocks;
  uint32_t n_forgotten = 0;
  for_each_block(pool, tokens, cache_salt, [&](uint32_t block, uint64_t parent, uint64_t hash, auto own) {
    const auto rest = tokens.subspan(size_t{block} * pool.block_tokens());
    bool is_cached = false;
    for (uint32_t group = 0; group < pool.n_groups(); ++group) {
      while (const auto tail = pool.find_tail(rest, parent, group)) {
        const auto named = rest.first(tail->n_tokens);
        n_forgotten = std::max(n_forgotten, block * pool.block_tokens() + tail->n_tokens);
        is_cached = is_cached || named.size() == pool.block_tokens();
        pool.forget_name(pool.hash_after(parent, named), named, group);
      }
    }
    if (pools.states != nullptr && pools.states->is_named(hash, own)) pools.states->forget_name(hash, own);
    return is_cached || pool.window(0) > 0;
  });
  return n_forgotten;
}

}  // namespace realizar::engine
