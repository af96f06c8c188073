// Counts the blocks of the KV cache: how many holders each has, which are free, and which can be found again by their
// tokens. It knows ids and counts only; the bytes belong to a backend. Allocates only at construction. One thread,
// unless a function says otherwise.
//
// A name is the keyed hash of all tokens up to a block's end, and a block's own tokens are compared after a hit: a
// client who does not know the key can neither compute the name of another's prefix nor make two prefixes with the same
// name.
//
// A block with a name is cached: when it loses its last holder it joins the end of the free list, and keeps its name
// until it is allocated again. Allocation takes from the front, so the free list is also the eviction queue, least
// recently used first. A block without a name joins the front.
//
// Layers that keep the same positions form a group, and each group has its own blocks: blocks of several groups with
// the same tokens have the same hash, and the group is part of the name. All blocks have the same size, so any free
// block serves any group.
//
// A name may cover only the first rows of a block: the tail of a text. The block's holder goes on writing rows after
// those, so other sequences copy it. When more of its rows are named, the block's first name stays as a second, shorter
// one: the name of a prompt whose answer continues in the same block.
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

// Moves the bytes of blocks. If the store has slots, a cached block is saved there before it is reused, in the slot
// that was filled longest ago; a prefix lookup may then restore blocks from the store.
class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // Saves a block's bytes to a slot. False if the slot is unavailable.
  virtual bool save(BlockId id, uint32_t slot) = 0;
  virtual void restore(uint32_t slot, BlockId id) = 0;
  // Copies a block within the cache.
  virtual void copy(BlockId from, BlockId to) = 0;
};

class BlockPool {
 public:
  // `key`: for all names. `store`, with its number of slots, must outlive the pool. `windows`: for each group, the
  // number of positions that a row sees, including its own; 0: all.
  BlockPool(uint32_t n_blocks, uint32_t block_tokens, const HashKey& key, BlockStore* store = nullptr,
            uint32_t n_slots = 0, std::vector<uint32_t> windows = {0});

  // Host memory for the lists of such a pool.
  static uint64_t list_bytes(uint64_t n_blocks, uint32_t block_tokens);

  uint32_t block_tokens() const { return block_tokens_; }
  uint32_t n_blocks() const { return n_blocks_; }
  uint32_t n_groups() const { return static_cast<uint32_t>(windows_.size()); }
  uint32_t window(uint32_t group) const { return windows_[group]; }
  uint32_t n_free() const { return n_free_; }
  uint32_t n_holders(BlockId id) const { return blocks_[to_index(id)].n_holders; }

  // A block with one holder; its old content is saved, or forgotten. nullopt: all are held.
  std::optional<BlockId> allocate();
  void hold(BlockId id);
  void release(BlockId id);

  // The parent hash of a sequence's first block. Only sequences with the same salt find each other's blocks.
  uint64_t root_hash(uint64_t cache_salt) const;
  // A salt derived from `name`; the same name gives the same salt only under the same key. Any thread, once the key is
  // settled.
  uint64_t salt_of(std::string_view name) const;
  const HashKey& key() const { return key_; }
  // Forgets all names and uses the key of another run, so that its names are valid here.
  void use_key(const HashKey& key);

  // The hash of the block that holds `tokens` and follows the one that `parent_hash` belongs to. Never 0.
  uint64_t hash_after(uint64_t parent_hash, std::span<const TokenId> tokens) const;
  // Whether a block of the group, or a slot of the store, has the name.
  bool is_named(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0) const;
  // Adds a holder to the block with that name, restored from the store if another block is free. nullopt if there is
  // none.
  std::optional<BlockId> take_named(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0);
  // Names the next `blocks` of a group after their `tokens`, continuing from `hash`, and sets `hash` to that of the
  // last one. All of their positions must have been computed by the prefill arithmetic, since they will stand for
  // prompt positions. A name that is taken stays with its block, and a block keeps its own name unless that is a tail
  // that these tokens extend. `owner`: the owner of the names, for forget_names.
  void name_blocks(std::span<const BlockId> blocks, std::span<const TokenId> tokens, uint64_t owner, uint64_t& hash,
                   uint32_t group = 0);

  // Leading rows of the named block that a shorter name covers too; 0 if there is none.
  uint32_t n_short_tokens(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0) const;

  // Forgets one name, and moves its block to the front of the free list if nobody holds it.
  void forget_name(uint64_t hash, std::span<const TokenId> tokens, uint32_t group = 0);

  // Rows of a block that follow the block with `hash`. Both functions leave `hash` as it is.
  struct Tail {
    uint32_t block;     // or a slot of the store
    uint32_t n_tokens;  // 1 to block_tokens
  };
  // The longest tail that the next `tokens` begin with; nullopt if there is none. Valid until the next call.
  std::optional<Tail> find_tail(std::span<const TokenId> tokens, uint64_t hash, uint32_t group = 0) const;
  // A copy of the tail's block, without a name and with one holder, made through the store; nullopt if all others are
  // held.
  std::optional<BlockId> copy_tail(const Tail& tail);
  // Names the first rows of a block after their `tokens`, fewer than block_tokens, like name_blocks.
  void name_tail(BlockId id, std::span<const TokenId> tokens, uint64_t owner, uint64_t hash, uint32_t group = 0);

  // The key under which a block is found.
  struct Name {
    uint64_t parent_hash, hash, owner;
    std::span<const TokenId> tokens;  // 1 to block_tokens, of the block's first rows
    uint32_t n_short_tokens = 0;      // how many of them a second name covers; 0: no second name
    uint32_t group = 0;
  };
  // All cached blocks: first those that are held, then the free ones, most recently used first.
  std::vector<BlockId> named_blocks() const;
  // Named blocks and store slots, in no order; name_of accepts both.
  std::vector<BlockId> all_with_names() const;
  Name name_of(BlockId id) const;

  // Notified when names of whole blocks appear and disappear, but not of tails. A block that moves to the store or back
  // can be found all the time, so that is not reported. Called on the pool's thread in the middle of a change: must not
  // allocate, wait, or call the pool.
  class Observer {
   public:
    virtual ~Observer() = default;
    // `name.tokens` is valid during the call.
    virtual void on_named(const Name& name) = 0;
    virtual void on_forgotten(uint64_t hash, uint32_t group) = 0;
    virtual void on_all_forgotten() = 0;
  };
  // Null: no observer. It must outlive its use here.
  void set_observer(Observer* observer) { observer_ = observer; }
  // Gives an unnamed block the name that it had in another run. False, without effect, if the name is taken, does not
  // follow from its tokens, or belongs to a group that does not exist.
  bool restore_name(BlockId id, const Name& name);

  // Forgets all names, or those of one owner and of all tails: the rows after another owner's tail may be this owner's,
  // left over in the block.
  void forget_names(std::optional<uint64_t> owner = std::nullopt);
  // Zeroes leftover data: calls wipe_block for unheld, unnamed blocks and wipe_slot for unnamed slots that were used
  // since they were last zeroed; at most max_blocks in all. True: there are no more.
  bool wipe_nameless(uint32_t max_blocks, const std::function<void(BlockId)>& wipe_block,
                     const std::function<void(uint32_t)>& wipe_slot);

  struct NameCounts {
    uint32_t n_named = 0, n_stored = 0;  // named blocks, and named slots of the store
    uint64_t n_inserted = 0;             // blocks that got their first name from name_blocks or name_tail
    uint64_t n_evicted = 0;              // names that blocks lost when they were reused,
    uint64_t n_saved = 0;                // of which this many were saved to the store,
    uint64_t n_dropped = 0;              // and of those, this many were dropped when their slot was needed
  };
  const NameCounts& name_counts() const { return counts_; }

  // For tests: the free list, the counts and the names are consistent.
  bool is_consistent() const;

 private:
  static constexpr uint32_t kNone = 0xffffffffu;
  struct Block {
    uint32_t n_holders = 0;
    uint32_t previous = kNone, next = kNone;  // links of the free list
    uint64_t hash = 0;                        // of all tokens up to the last one that the name covers; 0: no name
    uint64_t parent_hash = 0;
    uint64_t short_hash = 0;      // the second name's; 0: none
    uint64_t owner = 0;           // of the names
    uint32_t group = 0;           // of the names
    uint32_t n_tokens = 0;        // covered by the name
    uint32_t n_short_tokens = 0;  // covered by the second name
    bool is_used = false;         // written since it was last zeroed
  };
  // An entry of the table of names: the block, and which of its two names it is.
  struct Entry {
    uint32_t block = kNone;
    bool is_short = false;
    bool operator==(const Entry&) const = default;
  };

  void insert_name(uint32_t block, const Name& new_name);
  bool name(uint32_t block, const Name& name);
  bool may_grow(uint32_t block, const Name& name) const;
  void shorten_name(uint32_t block);
  void drop_slot(uint32_t slot);
  std::span<const TokenId> tokens_of(uint32_t block) const;
  uint64_t hash_at(const Entry& entry) const;
  std::span<const TokenId> tokens_at(const Entry& entry) const;
  void move_name(uint32_t from, uint32_t to);
  void save_or_forget(uint32_t block, uint32_t kept_slot);
  uint32_t take_first(uint32_t kept_slot);
  uint32_t bring_back(uint32_t slot);
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
  uint32_t next_slot_ = 0;         // the next one to fill
  std::vector<Block> blocks_;      // then the slots of the store, which only have names
  std::vector<TokenId> tokens_;    // [blocks and slots, block_tokens]; valid for named ones
  uint32_t first_free_ = kNone, last_free_ = kNone, n_free_ = 0;
  NameCounts counts_;
  std::vector<Entry> table_;  // of names: open addressing, linear probing; the size is a power of two
};

}  // namespace realizar::kv
