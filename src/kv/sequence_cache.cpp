#include "kv/sequence_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace realizar::kv {

// The rows of a step, and the window of the first one, may begin and end anywhere in a block.
uint32_t max_blocks_held(uint32_t window, uint64_t n_positions, uint32_t n_rows, uint32_t block_tokens) {
  const uint64_t n_all = n_positions / block_tokens + 1;
  const uint64_t n_seen = uint64_t{window} + n_rows;
  return static_cast<uint32_t>(window == 0 ? n_all : std::min(n_all, (n_seen + block_tokens - 1) / block_tokens + 1));
}

uint32_t n_pool_blocks(std::span<const uint32_t> windows, const PoolRoom& room) {
  uint64_t n_blocks = 0;
  for (const uint32_t window : windows) {
    const uint64_t of_one = max_blocks_held(window, room.max_positions, room.max_rows, room.block_tokens);
    n_blocks += window == 0 ? room.n_blocks : std::min<uint64_t>(room.n_blocks, of_one * room.max_seqs);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(n_blocks, UINT32_MAX / 2));
}

SequenceCache::SequenceCache(CachePools pools, uint64_t cache_salt, uint64_t owner, uint32_t max_positions,
                             uint32_t max_rollback)
    : pool_(pools.blocks),
      cache_salt_(cache_salt),
      owner_(owner),
      max_rollback_(max_rollback),
      tables_(size_t{pool_->n_groups()} * (max_positions / pool_->block_tokens() + 1)),
      groups_(pool_->n_groups()),
      states_(pools.states) {
  name_hash_ = pool_->root_hash(cache_salt);
}

SequenceCache& SequenceCache::operator=(SequenceCache&& other) noexcept {
  give_back();
  pool_ = std::exchange(other.pool_, nullptr);
  cache_salt_ = other.cache_salt_;
  owner_ = other.owner_;
  max_rollback_ = other.max_rollback_;
  tables_ = std::exchange(other.tables_, {});
  groups_ = std::exchange(other.groups_, {});
  n_blocks_ = std::exchange(other.n_blocks_, 0);
  n_computed_ = std::exchange(other.n_computed_, 0);
  n_as_prompt_ = std::exchange(other.n_as_prompt_, 0);
  n_named_ = std::exchange(other.n_named_, 0);
  name_hash_ = other.name_hash_;
  parent_hash_ = other.parent_hash_;
  states_ = std::move(other.states_);
  n_cached_ = other.n_cached_;
  passing_ = std::exchange(other.passing_, {});
  return *this;
}

uint32_t SequenceCache::table_stride() const {
  return groups_.empty() ? 0 : static_cast<uint32_t>(tables_.size() / groups_.size());
}

uint32_t SequenceCache::n_own() const {
  uint32_t n = 0;
  for (uint32_t group = 0; group < n_groups(); ++group) {
    for (const BlockId id : held(group)) n += pool_->n_holders(id) == 1 ? 1 : 0;
  }
  return n;
}

uint32_t SequenceCache::n_missing(uint32_t n_positions, uint32_t n_rows) const {
  const uint32_t block_tokens = pool_->block_tokens();
  uint32_t n = 0;
  for (uint32_t group = 0; group < n_groups(); ++group) {
    const uint32_t most = max_blocks_held(pool_->window(group), n_positions, n_rows + max_rollback_, block_tokens);
    n += most - std::min(most, n_blocks_ - groups_[group].first_held);
  }
  return n;
}

std::span<const TokenId> SequenceCache::tokens_of(std::span<const TokenId> tokens, uint32_t block) const {
  return tokens.subspan(size_t{block} * pool_->block_tokens(), pool_->block_tokens());
}

uint32_t SequenceCache::first_needed(uint32_t group, uint32_t n_computed) const {
  return first_block_seen(pool_->window(group), n_computed, pool_->block_tokens());
}

bool SequenceCache::has_windows() const {
  for (uint32_t group = 0; group < n_groups(); ++group) {
    if (pool_->window(group) > 0) return true;
  }
  return false;
}

// Fewer blocks may be usable than were found, if restoring some from the store evicts others: then the search repeats
// with fewer.
void SequenceCache::adopt_blocks(std::span<const TokenId> tokens, uint32_t limit) {
  const uint32_t block_tokens = pool_->block_tokens();
  REQUIRE(n_computed_ == n_named_ * block_tokens && n_blocks_ == n_named_);
  uint32_t end = std::min(limit / block_tokens, table_stride());
  while (end > n_named_) {
    const uint32_t wanted = is_searched() ? longest_usable(tokens, end) : end;
    end = take_blocks(tokens, wanted);
    if (end == wanted || !is_searched()) break;
  }
}

// How many of the first `end` blocks can be reused, including the sequence's own: every group has all blocks that its
// next row sees.
uint32_t SequenceCache::longest_usable(std::span<const TokenId> tokens, uint32_t end) {
  for (Group& group : groups_) group.first_found = 0;  // its own blocks are complete
  uint64_t hash = name_hash_;
  uint32_t longest = n_named_;
  for (uint32_t block = n_named_; block < end; ++block) {
    const auto own = tokens_of(tokens, block);
    hash = pool_->hash_after(hash, own);
    bool is_usable = true;
    for (uint32_t group = 0; group < n_groups(); ++group) {
      if (!pool_->is_named(hash, own, group)) {
        if (pool_->window(group) == 0) return longest;
        groups_[group].first_found = block + 1;
      }
      is_usable = is_usable && groups_[group].first_found <= first_needed(group, (block + 1) * pool_->block_tokens());
    }
    if (!is_usable) continue;
    n_cached_ = std::max(n_cached_, (block + 1) * pool_->block_tokens());
    if (!has_states() || states_.pool().is_named(hash, own)) longest = block + 1;
  }
  return longest;
}

// Takes the cached blocks up to `end`, for groups with windows only those needed from there on, and the state after
// them. Returns the number of blocks before the first missing one; with windows or states it then has taken none.
uint32_t SequenceCache::take_blocks(std::span<const TokenId> tokens, uint32_t end) {
  const uint32_t begin = n_named_;
  uint64_t hash = name_hash_;
  uint32_t reached = begin;
  for (; reached < end; ++reached) {
    const auto own = tokens_of(tokens, reached);
    const uint64_t own_hash = pool_->hash_after(hash, own);
    if (!take_column(reached, own_hash, own, end)) break;
    if (has_states() && reached + 1 == end && !take_state(own_hash, own, end)) {
      drop_column(reached, n_groups(), end);
      break;
    }
    hash = own_hash;
  }
  if (reached < end && is_searched()) {
    for (uint32_t block = reached; block-- > begin;) drop_column(block, n_groups(), end);
    return reached;
  }
  name_hash_ = hash;
  n_named_ = n_blocks_ = reached;
  n_computed_ = n_as_prompt_ = n_named_ * pool_->block_tokens();
  leave_windows(n_computed_, begin);
  return reached;
}

// Takes one block of every group that needs it to continue at `end`. False: one is missing, and none was taken.
bool SequenceCache::take_column(uint32_t block, uint64_t hash, std::span<const TokenId> own, uint32_t end) {
  for (uint32_t group = 0; group < n_groups(); ++group) {
    if (block < first_needed(group, end * pool_->block_tokens())) continue;
    const auto id = pool_->take_named(hash, own, group);
    if (!id) {
      drop_column(block, group, end);
      return false;
    }
    entry(group, block) = *id;
  }
  return true;
}

bool SequenceCache::take_state(uint64_t hash, std::span<const TokenId> own, uint32_t end) {
  const auto slot = states_.pool().take_named(hash, own);
  if (slot) states_.adopt(*slot, end * pool_->block_tokens());
  return slot.has_value();
}

// Releases what take_column took for the groups before `end_group`.
void SequenceCache::drop_column(uint32_t block, uint32_t end_group, uint32_t end) {
  for (uint32_t group = 0; group < end_group; ++group) {
    if (block >= first_needed(group, end * pool_->block_tokens())) pool_->release(entry(group, block));
  }
}

// Releases blocks that no row from n_computed on sees. The sequence holds all of the table's first n_taken blocks that
// it has not released before.
void SequenceCache::leave_windows(uint32_t n_computed, uint32_t n_taken) {
  for (uint32_t group = 0; group < n_groups(); ++group) {
    uint32_t& first_held = groups_[group].first_held;
    const uint32_t first = std::min(first_needed(group, n_computed), n_blocks_);
    if (first <= first_held) continue;
    for (uint32_t block = first_held; block < std::min(first, n_taken); ++block) pool_->release(entry(group, block));
    first_held = first;
    if (first < n_blocks_) std::fill_n(&entry(group, 0), first, entry(group, first));
  }
}

// The rows that every group has of the cached block with the longest match. The block may hold more rows than a limit
// allows; its first rows are still usable.
std::optional<uint32_t> SequenceCache::find_tail(std::span<const TokenId> tokens) const {
  if (has_states()) return std::nullopt;  // no state follows a part of a block
  auto rest = tokens.subspan(n_computed_);
  for (uint32_t group = 0, n_agreed = 0; n_agreed < n_groups(); group = (group + 1) % n_groups()) {
    const auto tail = pool_->find_tail(rest, name_hash_, group);
    if (!tail) return std::nullopt;
    n_agreed = tail->n_tokens == rest.size() ? n_agreed + 1 : 1;
    rest = rest.first(tail->n_tokens);
  }
  return static_cast<uint32_t>(rest.size());
}

uint32_t SequenceCache::n_with_tail(std::span<const TokenId> tokens, uint32_t limit) const {
  const auto n_tail = limit > n_computed_ ? find_tail(tokens) : std::nullopt;
  return n_tail ? std::min(n_computed_ + *n_tail, limit) : n_computed_;
}

// Making a copy may take the very block that another copy was to be made of.
bool SequenceCache::adopt_tail(std::span<const TokenId> tokens, uint32_t limit) {
  const auto n_tail = limit > n_computed_ ? find_tail(tokens) : std::nullopt;
  if (!n_tail) return false;
  const auto own = tokens.subspan(n_computed_, *n_tail);
  for (uint32_t group = 0; group < n_groups(); ++group) {
    const auto tail = pool_->find_tail(own, name_hash_, group);
    const auto copy = tail && tail->n_tokens == own.size() ? pool_->copy_tail(*tail) : std::nullopt;
    if (!copy) {
      while (group-- > 0) pool_->release(entry(group, n_blocks_));
      return false;
    }
    entry(group, n_blocks_) = *copy;
  }
  ++n_blocks_;
  n_computed_ = n_as_prompt_ = std::min(n_computed_ + *n_tail, limit);
  return true;
}

bool SequenceCache::reserve(uint32_t n_positions) {
  while (n_blocks_ * size_t{pool_->block_tokens()} < n_positions) {
    REQUIRE(n_blocks_ < table_stride());
    for (uint32_t group = 0; group < n_groups(); ++group) {
      const auto block = pool_->allocate();
      if (!block) {
        while (group-- > 0) pool_->release(entry(group, n_blocks_));
        return false;
      }
      entry(group, n_blocks_) = *block;
      if (groups_[group].first_held == n_blocks_) std::fill_n(&entry(group, 0), n_blocks_, *block);
    }
    ++n_blocks_;
  }
  return states_.reserve(n_positions);
}

void SequenceCache::commit(std::span<const TokenId> tokens, uint32_t n_new, bool as_prompt, bool keeps_state) {
  const bool goes_on = as_prompt && n_as_prompt_ == n_computed_;
  n_computed_ += n_new;
  if (pool_ == nullptr) return;
  states_.advance();
  if (goes_on) {
    name_computed(tokens);
    name_state(tokens, keeps_state);
  }
  leave_windows(n_computed_ - std::min(n_computed_, max_rollback_), n_blocks_);
}

void SequenceCache::name_computed(std::span<const TokenId> tokens) {
  n_as_prompt_ = n_computed_;
  for (; n_named_ < n_as_prompt_ / pool_->block_tokens(); ++n_named_) {
    parent_hash_ = name_hash_;
    for (uint32_t group = 0; group < n_groups(); ++group) {
      name_hash_ = parent_hash_;
      pool_->name_blocks(table(group).subspan(n_named_, 1), tokens_of(tokens, n_named_), owner_, name_hash_, group);
    }
  }
}

// Names the state after the last whole block. A state that does not stay is forgotten when the next one is named.
void SequenceCache::name_state(std::span<const TokenId> tokens, bool stays) {
  const bool is_at_end = n_computed_ == n_named_ * pool_->block_tokens() && states_.n_positions() == n_computed_;
  if (!has_states() || n_named_ == 0 || !is_at_end) return;
  BlockPool& pool = states_.pool();
  const auto own = tokens_of(tokens, n_named_ - 1);
  if (pool.is_named(name_hash_, own)) return;
  if (passing_.hash != 0) pool.forget_name(passing_.hash, tokens_of(tokens, passing_.block));
  passing_ = {};
  if (!stays) passing_ = {name_hash_, n_named_ - 1};
  uint64_t hash = parent_hash_;
  const BlockId slot = *states_.slot();
  pool.name_blocks({&slot, 1}, own, owner_, hash);
}

uint32_t SequenceCache::next_stop(uint32_t n_tokens) const {
  const uint32_t block_tokens = pool_->block_tokens(), n_apart = kStateBlocks * block_tokens;
  const uint32_t last = n_tokens == 0 ? 0 : (n_tokens - 1) / block_tokens * block_tokens;
  uint32_t stop = std::min(n_tokens, (n_computed_ / n_apart + 1) * n_apart);
  for (const uint32_t other : {last, n_cached_}) {
    if (other > n_computed_) stop = std::min(stop, other);
  }
  return stop;
}

void SequenceCache::offer_tail(std::span<const TokenId> tokens) {
  if (pool_ == nullptr || has_states()) return;
  const uint32_t begin = n_named_ * pool_->block_tokens();
  if (n_as_prompt_ <= begin) return;
  for (uint32_t group = 0; group < n_groups(); ++group) {
    if (n_named_ < groups_[group].first_held) continue;
    pool_->name_tail(entry(group, n_named_), tokens.subspan(begin, n_as_prompt_ - begin), owner_, name_hash_, group);
  }
}

void SequenceCache::rollback(uint32_t n_computed) {
  const bool has_gone_beyond = states_.n_positions() > n_computed;
  if (has_gone_beyond) {
    const auto marked = states_.marked();
    if (!marked || *marked > n_computed || *marked < n_named_ * pool_->block_tokens()) return release();
    states_.back_to_mark();
    n_computed = states_.n_positions();
  }
  REQUIRE(n_computed <= n_computed_ && (n_named_ == 0 || n_computed >= n_named_ * pool_->block_tokens()));
  for (uint32_t group = 0; group < n_groups(); ++group) {
    if (groups_[group].first_held > first_needed(group, n_computed)) return release();
  }
  n_computed_ = n_computed;
  n_as_prompt_ = std::min(n_as_prompt_, n_computed);
}

// Releases the last blocks first, so that the beginning of a text stays cached longest.
void SequenceCache::give_back() {
  for (uint32_t block = n_blocks_; block-- > 0;) {
    for (uint32_t group = 0; group < n_groups(); ++group) {
      if (block >= groups_[group].first_held) pool_->release(entry(group, block));
    }
  }
  n_blocks_ = 0;
  std::ranges::fill(groups_, Group{});
  states_.release();
}

void SequenceCache::release() {
  give_back();
  n_computed_ = n_as_prompt_ = n_named_ = n_cached_ = 0;
  passing_ = {};
  if (pool_ != nullptr) name_hash_ = pool_->root_hash(cache_salt_);
}

}  // namespace realizar::kv
