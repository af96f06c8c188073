#include "kv/block_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace realizar::kv {

BlockPool::BlockPool(uint32_t n_blocks, uint32_t block_tokens, const HashKey& key, BlockStore* store, uint32_t n_slots,
                     std::vector<uint32_t> windows)
    : n_blocks_(n_blocks),
      block_tokens_(block_tokens),
      key_(key),
      store_(store),
      windows_(std::move(windows)),
      blocks_(n_blocks + n_slots),
      tokens_(blocks_.size() * block_tokens),
      table_(std::bit_ceil(4 * blocks_.size() + 1)) {
  REQUIRE(block_tokens > 0 && !windows_.empty());
  for (uint32_t block = 0; block < n_blocks; ++block) append_free(block);
}

uint64_t BlockPool::list_bytes(uint64_t n_blocks, uint32_t block_tokens) {
  const uint64_t of_a_block = sizeof(Block) + uint64_t{block_tokens} * sizeof(TokenId);
  return n_blocks * of_a_block + std::bit_ceil(4 * n_blocks + 1) * sizeof(Entry);
}

std::optional<BlockId> BlockPool::allocate() {
  const uint32_t block = take_first(kNone);
  return block == kNone ? std::nullopt : std::optional(BlockId{block});
}

// The first free block, with one holder; kNone if all are held. Its old content is never saved to the store's slot
// `kept_slot`.
uint32_t BlockPool::take_first(uint32_t kept_slot) {
  if (first_free_ == kNone) return kNone;
  const uint32_t block = first_free_;
  take_free(block);
  save_or_forget(block, kept_slot);
  blocks_[block].n_holders = 1;
  blocks_[block].is_used = true;
  return block;
}

// The name can be found before and after the move, so the observer is not called.
void BlockPool::move_name(uint32_t from, uint32_t to) {
  Observer* const observer = std::exchange(observer_, nullptr);
  const Name moved = name_of(BlockId{from});
  erase_name(from);
  restore_name(BlockId{to}, moved);
  observer_ = observer;
}

// A block loses its name, which moves to a slot of the store if one other than `kept_slot` is available.
void BlockPool::save_or_forget(uint32_t block, uint32_t kept_slot) {
  const auto n_slots = static_cast<uint32_t>(blocks_.size()) - n_blocks_;
  if (blocks_[block].hash == 0) return;
  ++counts_.n_evicted;
  if (n_slots > 0 && n_blocks_ + next_slot_ == kept_slot) next_slot_ = (next_slot_ + 1) % n_slots;
  const uint32_t slot = n_blocks_ + next_slot_;
  if (n_slots == 0 || slot == kept_slot) return erase_name(block);
  drop_slot(slot);
  if (!store_->save(BlockId{block}, next_slot_)) return erase_name(block);
  blocks_[slot].is_used = true;
  next_slot_ = (next_slot_ + 1) % n_slots;
  move_name(block, slot);
  ++counts_.n_saved;
}

void BlockPool::drop_slot(uint32_t slot) {
  if (blocks_[slot].hash == 0) return;
  erase_name(slot);
  ++counts_.n_dropped;
}

// Copies the bytes of a store slot into a block, with one holder; kNone if all are held.
uint32_t BlockPool::bring_back(uint32_t slot) {
  const uint32_t block = take_first(slot);
  if (block == kNone) return kNone;
  store_->restore(slot - n_blocks_, BlockId{block});
  move_name(slot, block);
  return block;
}

void BlockPool::hold(BlockId id) {
  const uint32_t block = to_index(id);
  if (blocks_[block].n_holders++ == 0) take_free(block);
}

void BlockPool::release(BlockId id) {
  const uint32_t block = to_index(id);
  REQUIRE(blocks_[block].n_holders > 0);
  if (--blocks_[block].n_holders > 0) return;
  blocks_[block].hash == 0 ? prepend_free(block) : append_free(block);
}

uint64_t BlockPool::root_hash(uint64_t cache_salt) const {
  return SipHash(key_).finish(std::as_bytes(std::span(&cache_salt, 1)));
}

// The leading word separates salts from block names, which begin with the hash of their parent.
uint64_t BlockPool::salt_of(std::string_view name) const {
  constexpr uint64_t kSalt = 0x746c6173;  // "salt"
  SipHash hash(key_);
  hash.take(kSalt);
  return hash.finish(std::as_bytes(std::span(name)));
}

void BlockPool::use_key(const HashKey& key) {
  forget_names();
  key_ = key;
}

bool BlockPool::is_named(uint64_t hash, std::span<const TokenId> tokens, uint32_t group) const {
  return lookup(hash, tokens, group) != kNone;
}

std::optional<BlockId> BlockPool::take_named(uint64_t hash, std::span<const TokenId> tokens, uint32_t group) {
  uint32_t block = lookup(hash, tokens, group);
  if (block == kNone) return std::nullopt;
  if (block < n_blocks_) {
    hold(BlockId{block});
  } else {
    block = bring_back(block);
    if (block == kNone) return std::nullopt;
  }
  return BlockId{block};
}

void BlockPool::name_blocks(std::span<const BlockId> blocks, std::span<const TokenId> tokens, uint64_t owner,
                            uint64_t& hash, uint32_t group) {
  REQUIRE(tokens.size() == blocks.size() * block_tokens_);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto own = tokens.subspan(i * block_tokens_, block_tokens_);
    const uint64_t parent_hash = std::exchange(hash, hash_after(hash, own));
    insert_name(to_index(blocks[i]), {parent_hash, hash, owner, own, 0, group});
  }
}

std::optional<BlockPool::Tail> BlockPool::find_tail(std::span<const TokenId> tokens, uint64_t hash,
                                                    uint32_t group) const {
  for (auto n = static_cast<uint32_t>(std::min<size_t>(tokens.size(), block_tokens_)); n > 0; --n) {
    const uint32_t block = lookup(hash_after(hash, tokens.first(n)), tokens.first(n), group);
    if (block != kNone) return Tail{block, n};
  }
  return std::nullopt;
}

// Held in the meantime, so that the copy takes another block.
std::optional<BlockId> BlockPool::copy_tail(const Tail& tail) {
  REQUIRE(store_ != nullptr);
  const bool is_stored = tail.block >= n_blocks_;
  if (!is_stored) hold(BlockId{tail.block});
  const uint32_t copy = take_first(tail.block);
  if (copy != kNone && is_stored) store_->restore(tail.block - n_blocks_, BlockId{copy});
  if (copy != kNone && !is_stored) store_->copy(BlockId{tail.block}, BlockId{copy});
  if (!is_stored) release(BlockId{tail.block});
  return copy == kNone ? std::nullopt : std::optional(BlockId{copy});
}

void BlockPool::name_tail(BlockId id, std::span<const TokenId> tokens, uint64_t owner, uint64_t hash, uint32_t group) {
  REQUIRE(!tokens.empty() && tokens.size() < block_tokens_);
  insert_name(to_index(id), {hash, hash_after(hash, tokens), owner, tokens, 0, group});
}

uint32_t BlockPool::n_short_tokens(uint64_t hash, std::span<const TokenId> tokens, uint32_t group) const {
  const uint32_t block = lookup(hash, tokens, group);
  return block == kNone || blocks_[block].n_short_tokens >= tokens.size() ? 0 : blocks_[block].n_short_tokens;
}

std::vector<BlockId> BlockPool::named_blocks() const {
  std::vector<BlockId> named;
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    if (blocks_[block].hash != 0 && blocks_[block].n_holders > 0) named.push_back(BlockId{block});
  }
  for (uint32_t block = last_free_; block != kNone; block = blocks_[block].previous) {
    if (blocks_[block].hash != 0) named.push_back(BlockId{block});
  }
  return named;
}

std::vector<BlockId> BlockPool::all_with_names() const {
  std::vector<BlockId> named;
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    if (blocks_[block].hash != 0) named.push_back(BlockId{block});
  }
  return named;
}

BlockPool::Name BlockPool::name_of(BlockId id) const {
  const Block& block = blocks_[to_index(id)];
  return {block.parent_hash, block.hash, block.owner, tokens_of(to_index(id)), block.n_short_tokens, block.group};
}

bool BlockPool::restore_name(BlockId id, const Name& name_before) {
  const auto& [parent_hash, hash, owner, tokens, n_short_tokens, group] = name_before;
  if (group >= n_groups() || hash_after(parent_hash, tokens) != hash || is_named(hash, tokens, group)) return false;
  if (n_short_tokens > 0 && n_short_tokens < tokens.size()) {
    const auto first = tokens.first(n_short_tokens);
    name(to_index(id), {parent_hash, hash_after(parent_hash, first), owner, first, 0, group});
  }
  return name(to_index(id), name_before);
}

void BlockPool::insert_name(uint32_t block, const Name& new_name) {
  const bool is_first = blocks_[block].hash == 0;
  if (name(block, new_name) && is_first) ++counts_.n_inserted;
}

// False if the name is taken, or if the block has a name that this one does not extend.
bool BlockPool::name(uint32_t block, const Name& name) {
  Block& named = blocks_[block];
  if (is_named(name.hash, name.tokens, name.group)) return false;
  if (named.hash == 0) {
    ++(block < n_blocks_ ? counts_.n_named : counts_.n_stored);
  } else {
    if (!may_grow(block, name)) return false;
    shorten_name(block);
  }
  std::ranges::copy(name.tokens, tokens_.begin() + static_cast<std::ptrdiff_t>(size_t{block} * block_tokens_));
  named.hash = name.hash;
  named.parent_hash = name.parent_hash;
  named.owner = name.owner;
  named.group = name.group;
  named.n_tokens = static_cast<uint32_t>(name.tokens.size());
  insert({block, false});
  if (observer_ != nullptr && named.n_tokens == block_tokens_) observer_->on_named(name);
  return true;
}

bool BlockPool::may_grow(uint32_t block, const Name& name) const {
  const auto own = tokens_of(block);
  return blocks_[block].parent_hash == name.parent_hash && blocks_[block].group == name.group &&
         own.size() < name.tokens.size() && std::ranges::equal(own, name.tokens.first(own.size()));
}

// The name becomes the short name if the block has none yet; else it is forgotten.
void BlockPool::shorten_name(uint32_t block) {
  Block& named = blocks_[block];
  erase({block, false});
  if (named.short_hash != 0) return;
  named.short_hash = named.hash;
  named.n_short_tokens = named.n_tokens;
  insert({block, true});
}

void BlockPool::forget_names(std::optional<uint64_t> owner) {
  Observer* const observer = observer_;
  if (!owner) observer_ = nullptr;  // reported once
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    const bool is_tail = blocks_[block].n_tokens < block_tokens_;
    if (!owner || is_tail || blocks_[block].owner == *owner) erase_name(block);
  }
  observer_ = observer;
  if (!owner && observer_ != nullptr) observer_->on_all_forgotten();
}

void BlockPool::forget_name(uint64_t hash, std::span<const TokenId> tokens, uint32_t group) {
  const uint32_t block = lookup(hash, tokens, group);
  if (block == kNone) return;
  erase_name(block);
  if (block >= n_blocks_ || blocks_[block].n_holders > 0) return;
  take_free(block);
  prepend_free(block);
}

bool BlockPool::wipe_nameless(uint32_t max_blocks, const std::function<void(BlockId)>& wipe_block,
                              const std::function<void(uint32_t)>& wipe_slot) {
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    Block& used = blocks_[block];
    if (!used.is_used || used.n_holders > 0 || used.hash != 0) continue;
    if (max_blocks-- == 0) return false;
    block < n_blocks_ ? wipe_block(BlockId{block}) : wipe_slot(block - n_blocks_);
    std::ranges::fill(std::span(tokens_).subspan(size_t{block} * block_tokens_, block_tokens_), TokenId{0});
    used.is_used = false;
  }
  return true;
}

bool BlockPool::is_consistent() const {
  uint32_t n_listed = 0, n_named = 0, n_names = 0, n_in_table = 0;
  for (uint32_t block = first_free_; block != kNone; block = blocks_[block].next) {
    if (blocks_[block].n_holders != 0 || ++n_listed > n_blocks_) return false;
  }
  uint32_t n_unheld = 0;
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    if (block < n_blocks_ && blocks_[block].n_holders == 0) ++n_unheld;
    if (block >= n_blocks_ && blocks_[block].n_holders != 0) return false;
    if (blocks_[block].hash == 0) continue;
    ++n_named;
    for (const bool is_short : {false, true}) {
      const Entry entry{block, is_short};
      if (hash_at(entry) == 0) continue;
      ++n_names;
      if (lookup(hash_at(entry), tokens_at(entry), blocks_[block].group) != block) return false;
    }
  }
  for (const Entry& entry : table_) n_in_table += entry.block != kNone ? 1 : 0;
  const bool are_counted = n_named == counts_.n_named + counts_.n_stored;
  return n_listed == n_free_ && n_unheld == n_free_ && n_names == n_in_table && are_counted;
}

// 0 means "no name".
uint64_t BlockPool::hash_after(uint64_t parent_hash, std::span<const TokenId> tokens) const {
  SipHash hash(key_);
  hash.take(parent_hash);
  return std::max<uint64_t>(1, hash.finish(std::as_bytes(tokens)));
}

std::span<const TokenId> BlockPool::tokens_of(uint32_t block) const {
  return std::span(tokens_).subspan(size_t{block} * block_tokens_, blocks_[block].n_tokens);
}

void BlockPool::prepend_free(uint32_t block) {
  blocks_[block].previous = kNone;
  blocks_[block].next = first_free_;
  (first_free_ == kNone ? last_free_ : blocks_[first_free_].previous) = block;
  first_free_ = block;
  ++n_free_;
}

void BlockPool::append_free(uint32_t block) {
  blocks_[block].previous = last_free_;
  blocks_[block].next = kNone;
  (last_free_ == kNone ? first_free_ : blocks_[last_free_].next) = block;
  last_free_ = block;
  ++n_free_;
}

void BlockPool::take_free(uint32_t block) {
  const Block& b = blocks_[block];
  (b.previous == kNone ? first_free_ : blocks_[b.previous].next) = b.next;
  (b.next == kNone ? last_free_ : blocks_[b.next].previous) = b.previous;
  --n_free_;
}

uint64_t BlockPool::hash_at(const Entry& entry) const {
  return entry.is_short ? blocks_[entry.block].short_hash : blocks_[entry.block].hash;
}

std::span<const TokenId> BlockPool::tokens_at(const Entry& entry) const {
  const auto all = tokens_of(entry.block);
  return entry.is_short ? all.first(blocks_[entry.block].n_short_tokens) : all;
}

// Names of the same tokens in different groups hash differently.
size_t BlockPool::home_of(uint64_t hash, uint32_t group) const {
  return (hash + group * 0x9E3779B97F4A7C15u) & (table_.size() - 1);
}

uint32_t BlockPool::lookup(uint64_t hash, std::span<const TokenId> tokens, uint32_t group) const {
  const size_t mask = table_.size() - 1;
  for (size_t slot = home_of(hash, group); table_[slot].block != kNone; slot = (slot + 1) & mask) {
    const Entry& entry = table_[slot];
    const bool has_hash = hash_at(entry) == hash && blocks_[entry.block].group == group;
    if (has_hash && std::ranges::equal(tokens_at(entry), tokens)) return entry.block;
  }
  return kNone;
}

void BlockPool::insert(const Entry& entry) {
  const size_t mask = table_.size() - 1;
  size_t slot = home_of(entry);
  while (table_[slot].block != kNone) slot = (slot + 1) & mask;
  table_[slot] = entry;
}

// Deletion from a linearly probed table: entries after the hole move up where their position allows it (Knuth, 6.4, R).
void BlockPool::erase(const Entry& entry) {
  const size_t mask = table_.size() - 1;
  size_t hole = home_of(entry);
  while (table_[hole] != entry) hole = (hole + 1) & mask;
  for (size_t slot = (hole + 1) & mask; table_[slot].block != kNone; slot = (slot + 1) & mask) {
    const size_t home = home_of(table_[slot]);
    const bool may_move = ((slot - home) & mask) >= ((slot - hole) & mask);
    if (!may_move) continue;
    table_[hole] = table_[slot];
    hole = slot;
  }
  table_[hole] = {};
}

void BlockPool::erase_name(uint32_t block) {
  Block& named = blocks_[block];
  if (named.hash == 0) return;
  --(block < n_blocks_ ? counts_.n_named : counts_.n_stored);
  erase({block, false});
  if (named.short_hash != 0) erase({block, true});
  if (observer_ != nullptr && named.n_tokens == block_tokens_) observer_->on_forgotten(named.hash, named.group);
  named.hash = named.short_hash = 0;
  named.n_tokens = named.n_short_tokens = 0;
}

}  // namespace realizar::kv
