// The KV cache's blocks, counted: who holds how many, which are free, and which of them can be found again by the
// tokens that they hold. Ids and counts only; the bytes belong to a backend. Allocates at construction, never after.
// One thread, save where a function says more.
//
// A name is the keyed hash of all tokens up to a block's end, and a block's own tokens are compared after a hit: a
// client who does not know the key can neither compute the name of another's prefix nor make two prefixes of one name.
//
// A block with a name is cached: when it loses its last holder it joins the end of the free list, and keeps its name
// until it is taken again, from the front: so the free list is also the eviction queue, least recently used first. One
// without a name joins the front.
//
// Layers that keep the same positions are a group, and each group has blocks of its own: the blocks of several groups
// that hold the same tokens have the same hash, and the group is part of the name. All blocks are equally large, so any
// free one serves any group.
//
// A name may stand for the first rows of a block alone: the tail of a text. Who has the block goes on writing the rows
// after those, so others copy it. When more of its rows are named, the first of its names stays as a second, shorter
// one: that of a prompt, in a block where the answer goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kv/sip_hash.h"
#include "realizar/types.h"

namespace realizar::kv {

// Moves the bytes of blocks. Where it has places, a cached block that is taken again is saved there first, in the place
// that was filled longest ago; a prefix that is looked for may then continue with blocks that come back from the store.
class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // Keeps a block's bytes in a place. False: that place cannot be had.
  virtual bool save(BlockId id, uint32_t place) = 0;
  virtual void restore(uint32_t place, BlockId id) = 0;
  // Within the cache.
  virtual void copy(BlockId from, BlockId to) = 0;
};

class BlockPool {
 public:
  // `key` of all names. `store`, with its number of places, must outlive the pool. `windows`: of the groups, in
  // positions that a row sees, its own included; 0: all.
  BlockPool(uint32_t n_blocks, uint32_t block_tokens, const HashKey& key, BlockStore* store = nullptr,
            uint32_t n_places = 0, std::vector<uint32_t> windows = {0});

  // What the lists of such a pool take of the host's memory.
  static uint64_t list_bytes(uint64_t n_blocks, uint32_t block_tokens);

  uint32_t block_tokens() const { return block_tokens_; }
  uint32_t n_blocks() const { return n_blocks_; }
  uint32_t n_groups() const { return static_cast<uint32_t>(windows_.size()); }
  uint32_t window(uint32_t group) const { return windows_[group]; }
  uint32_t n_free() const { return n_free_; }
  uint32_t n_holders(BlockId id) const { return blocks_[to_index(id)].n_holders; }

  // A block with one holder; what it held is saved, or forgotten. nullopt: all are held.
  std::optional<BlockId> allocate();
  void hold(BlockId id);
  void release(BlockId id);

  // The hash that a sequence's first block is chained to. Only sequences of the same salt find each other's blocks.
  uint64_t root_hash(uint64_t cache_salt) const;
  // A salt for whoever is called `name`, the same for the same key alone. Any thread, once the key is settled.
  uint64_t salt_of(std::string_view name) const;
  const HashKey& key() const { return key_; }
  // Forgets all names, and takes over the key under which another run gave its own.
  void use_key(const HashKey& key);

  // The hash of the block that holds `tokens` and follows the one that `parent_hash` belongs to. Never 0.
  uint64_t hash_after(uint64_t parent_hash, std::span<const TokenId> tokens) const;
  // Whether a block of the group, or a place of the store, has the name.
  bool is_named(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0) const;
  // Holds the block of that name once more; it comes back from the store where another is free. nullopt: there is none.
  std::optional<BlockId> take_named(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0);
  // Names the next `blocks` of a group after their `tokens`, from the block that `hash` belongs to, and leaves `hash`
  // at the last of them. All of their positions must have been computed by the prefill arithmetic, since they will
  // stand for prompt positions. A name that is taken stays as it is, and so does a block's own but for a tail that
  // these tokens go on from. `owner`: whose names they are, for forget_names.
  void name_blocks(std::span<const BlockId> blocks, std::span<const TokenId> tokens, uint64_t owner, uint64_t& hash,
                   uint32_t group = 0);

  // Of the block that has this name: how many of its first rows a shorter name stands for too; 0: there is none.
  uint32_t n_short_tokens(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0) const;

  // Forgets one name, and puts its block in front of the free list where nobody holds it.
  void forget_name(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0);

  // Rows of a block that follow the block that `hash` belongs to. Both functions leave `hash` as it is.
  struct Tail {
    uint32_t block;     // or a place of the store
    uint32_t n_tokens;  // 1 to block_tokens
  };
  // The longest name that the next `tokens` begin with; nullopt: there is none. Valid until the next call.
  std::optional<Tail> find_tail(std::span<const TokenId> tokens, uint64_t hash, uint32_t group = 0) const;
  // A copy of the tail's block, without a name and with one holder, by way of the store; nullopt: all others are held.
  std::optional<BlockId> copy_tail(const Tail& tail);
  // Names the first rows of a block after their `tokens`, fewer than block_tokens, as name_blocks does.
  void name_tail(BlockId id, std::span<const TokenId> tokens, uint64_t owner, uint64_t hash, uint32_t group = 0);

  // What a block is found by.
  struct Name {
    uint64_t parent_hash, hash, owner;
    std::span<const TokenId> tokens;  // 1 to block_tokens, of the block's first rows
    uint32_t n_short_tokens = 0;      // of those, that a second name stands for; 0: there is none
    uint32_t group = 0;
  };
  // All cached blocks: those that are held, then the free ones, most recently used first.
  std::vector<BlockId> named_blocks() const;
  // Blocks and places of the store that have a name, in no order; name_of takes both.
  std::vector<BlockId> all_with_names() const;
  Name name_of(BlockId id) const;

  // Is told of names of whole blocks that come and go; of tails it is told nothing. A block that moves to the store or
  // back can be found all the time, so nothing is told of that. Called on the pool's thread in the middle of a change:
  // must neither allocate nor wait, nor call the pool.
  class Observer {
   public:
    virtual ~Observer() = default;
    // `name.tokens` is valid during the call.
    virtual void on_named(const Name& name) = 0;
    virtual void on_forgotten(uint64_t hash, uint32_t group) = 0;
    virtual void on_all_forgotten() = 0;
  };
  // Null: nobody is told. It must outlive its use here.
  void set_observer(Observer* observer) { observer_ = observer; }
  // Names a block that has none as another run named it. False, and without effect, where the name is taken, does not
  // follow from its tokens or is of no group that there is.
  bool restore_name(BlockId id, const Name& name);

  // Forgets all names, or those of one owner and of all tails: the rows after another owner's tail may be what this
  // owner left in the block before.
  void forget_names(std::optional<uint64_t> owner = std::nullopt);
  // Has what was left in memory zeroed: calls wipe_block for blocks that nobody holds, and wipe_place for places, that
  // were used since and have no name; for max_blocks of both at most. True: there are no more.
  bool wipe_nameless(uint32_t max_blocks, const std::function<void(BlockId)>& wipe_block,
                     const std::function<void(uint32_t)>& wipe_place);

  struct NameCounts {
    uint32_t n_named = 0, n_stored = 0;  // blocks, and places of the store, that have a name
    uint64_t n_inserted = 0;             // blocks that name_blocks and name_tail gave their first name
    uint64_t n_evicted = 0;              // that a block lost when it was taken again,
    uint64_t n_saved = 0;                // those of them that went to the store,
    uint64_t n_dropped = 0;              // and those that were lost there since their place was wanted
  };
  const NameCounts& name_counts() const { return counts_; }

  // For tests: the free list, the counts and the names agree with each other.
  bool is_consistent() const;

 private:
  static constexpr uint32_t kNone = 0xffffffffu;
  struct Block {
    uint32_t n_holders = 0;
    uint32_t previous = kNone, next = kNone;  // in the free list
    uint64_t hash = 0;                        // of all tokens up to the last that it stands for; 0: no name
    uint64_t parent_hash = 0;
    uint64_t short_hash = 0;      // of the second name; 0: there is none
    uint64_t owner = 0;           // of the names
    uint32_t group = 0;           // the same
    uint32_t n_tokens = 0;        // that the name stands for
    uint32_t n_short_tokens = 0;  // that the second name stands for
    bool is_used = false;         // since it was zeroed last
  };
  // A name's place in the table of names: its block, and which of the two it is.
  struct Entry {
    uint32_t block = kNone;
    bool is_short = false;
    bool operator==(const Entry&) const = default;
  };

  void insert_name(uint32_t block, const Name& new_name);
  bool name(uint32_t block, const Name& name);
  bool may_grow(uint32_t block, const Name& name) const;
  void shorten_name(uint32_t block);
  void drop_place(uint32_t place);
  std::span<const TokenId> tokens_of(uint32_t block) const;
  uint64_t hash_at(const Entry& entry) const;
  std::span<const TokenId> tokens_at(const Entry& entry) const;
  void move_name(uint32_t from, uint32_t to);
  void save_or_forget(uint32_t block, uint32_t kept_place);
  uint32_t take_first(uint32_t kept_place);
  uint32_t bring_back(uint32_t place);
  void prepend_free(uint32_t block);
  void append_free(uint32_t block);
  void take_free(uint32_t block);
  uint32_t lookup(uint64_t hash, std::span<const TokenId> tokens, uint32_t group) const;
  size_t home_of(uint64_t hash, uint32_t group) const;
  size_t home_of(const Entry& entry) const { return home_of(hash_at(entry), blocks_[entry.block].group); }
  void insert(const Entry& entry);
  void erase(const Entry& entry);
  void erase_name(uint32_t block);

  uint32_t n_blocks_, block_tokens_;
  HashKey key_;
  BlockStore* store_;
  Observer* observer_ = nullptr;
  std::vector<uint32_t> windows_;  // [n_groups]
  uint32_t next_place_ = 0;        // that is filled next
  std::vector<Block> blocks_;      // then the places of the store, which have names alone
  std::vector<TokenId> tokens_;    // [blocks and places, block_tokens], of those with names
  uint32_t first_free_ = kNone, last_free_ = kNone, n_free_ = 0;
  NameCounts counts_;
  std::vector<Entry> table_;  // of names: open addressing, linear probing; size a power of two
};

}  // namespace realizar::kv
