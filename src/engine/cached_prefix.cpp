#include "engine/cached_prefix.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace realizar::engine {
namespace {

// Calls visit(block, parent_hash, hash, own) for each block of the tokens, the last of which may have fewer.
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

}  // namespace

uint32_t PrefixLayout::n_block_pieces(uint32_t block_tokens) const {
  uint32_t n = 0;
  for (const uint32_t first : first_blocks) n += n_blocks(block_tokens) - first;
  return n;
}

uint64_t PrefixLayout::n_bytes(const PrefixShape& shape) const {
  return n_block_pieces(shape.block_tokens) * shape.block_bytes + (has_state ? shape.state_bytes : 0);
}

HeldPrefix::HeldPrefix(kv::CachePools pools, std::span<const TokenId> tokens, uint64_t cache_salt)
    : cache_(pools, cache_salt, 0, static_cast<uint32_t>(tokens.size())) {
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  cache_.adopt_blocks(tokens, n_tokens);
  cache_.adopt_tail(tokens, n_tokens);
  layout_.n_tokens = cache_.n_computed();
  for (uint32_t group = 0; group < pools.blocks->n_groups(); ++group) {
    const auto held = cache_.held(group);
    layout_.first_blocks.push_back(static_cast<uint32_t>(cache_.table(group).size() - held.size()));
    blocks_.insert(blocks_.end(), held.begin(), held.end());
  }
  for (uint32_t group = 0; group < pools.blocks->n_groups(); ++group) {
    const auto held = tokens.first(layout_.n_tokens);
    for_each_block(*pools.blocks, held, cache_salt, [&](uint32_t block, uint64_t, uint64_t hash, auto own) {
      if (block >= layout_.first_blocks[group]) {
        layout_.short_tokens.push_back(pools.blocks->n_short_tokens(hash, own, group));
      }
      return true;
    });
  }
  layout_.has_state = cache_.has_states() && cache_.states().slot().has_value();
}

void HeldPrefix::read(uint32_t piece, const Backend& backend, std::span<std::byte> bytes) const {
  if (piece < blocks_.size()) return backend.read_block(blocks_[piece], bytes);
  backend.read_state(StateId{to_index(*cache_.states().slot())}, bytes);
}

NewPrefix::NewPrefix(kv::CachePools pools, PrefixLayout layout, std::vector<TokenId> tokens)
    : pools_(pools),
      layout_(std::move(layout)),
      tokens_(std::move(tokens)),
      n_pieces_(layout_.n_pieces(pools.blocks->block_tokens())) {
  REQUIRE(layout_.first_blocks.size() == pools.blocks->n_groups() && layout_.n_tokens == tokens_.size());
  REQUIRE(layout_.short_tokens.size() == layout_.n_block_pieces(pools.blocks->block_tokens()));
  REQUIRE(!layout_.has_state || pools.states != nullptr);
}

// The last blocks first, so that the beginning of a text can be found longest.
NewPrefix::~NewPrefix() {
  if (state_) pools_.states->release(*state_);
  for (size_t i = taken_.size(); i-- > 0;) pools_.blocks->release(taken_[i]);
}

bool NewPrefix::add(Backend& backend, std::span<const std::byte> bytes) {
  if (is_next_state()) {
    state_ = pools_.states->allocate();
    if (state_) backend.write_state(StateId{to_index(*state_)}, bytes);
    return state_.has_value();
  }
  REQUIRE(taken_.size() < n_pieces_);
  const auto block = pools_.blocks->allocate();
  if (!block) return false;
  taken_.push_back(*block);
  backend.write_block(*block, bytes);
  return true;
}

// A name that another sequence has given meanwhile stays, and the block that holds the same loses its place.
void NewPrefix::name(uint64_t cache_salt, uint64_t owner) {
  REQUIRE(taken_.size() + (state_ ? 1 : 0) == n_pieces_);
  const uint32_t n_blocks = layout_.n_blocks(pools_.blocks->block_tokens());
  size_t begin = 0;  // of the group's blocks in taken_
  for (uint32_t group = 0; group < layout_.first_blocks.size(); ++group) {
    const uint32_t first = layout_.first_blocks[group];
    for_each_block(*pools_.blocks, tokens_, cache_salt, [&](uint32_t block, uint64_t parent, uint64_t hash, auto own) {
      if (block >= first) {
        const size_t piece = begin + block - first;
        pools_.blocks->restore_name(taken_[piece], {parent, hash, owner, own, layout_.short_tokens[piece], group});
      }
      if (state_ && group == 0 && block + 1 == n_blocks) {
        pools_.states->restore_name(*state_, {parent, hash, owner, own});
      }
      return true;
    });
    begin += n_blocks - first;
  }
}

// The tails go first, of which there may be several, each shorter than the one before.
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
