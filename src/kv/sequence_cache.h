// What one sequence keeps in the KV cache: its blocks, how far they are computed, and what of it later sequences find.
// It alone deals with block tables and names. All capacity is taken when it is made, so that steps allocate nothing.
// One thread, that of its pool.
//
// Each group of layers has a table. Where a group has a window, the blocks that it has left are given back; their
// places in the table then name a block that is still held, since a kernel may read a few positions that it gives no
// weight.
//
// A model with recurrent layers has states too, in slots of a pool of their own (state_slots.h). A prefix of it can be
// gone on from only where a state comes after exactly these positions, so states are named at the ends of blocks, by
// the hash of the block: those that a chunk was made to end at stay until they are the least recently used, of the
// others the last one of each sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kv/block_pool.h"
#include "kv/state_slots.h"

namespace realizar::kv {

// The most blocks of a group that a sequence holds, of n_positions in all, while steps compute n_rows of it at most.
uint32_t max_blocks_held(uint32_t window, uint64_t n_positions, uint32_t n_rows, uint32_t block_tokens);

// What a pool has room for.
struct PoolRoom {
  uint32_t n_blocks = 0;       // of a group without a window
  uint32_t max_seqs = 1;       // that run together
  uint32_t max_positions = 0;  // of a sequence
  uint32_t max_rows = 1;       // of a sequence in a step, and those by which it may be rolled back
  uint32_t block_tokens = 32;
};
// Blocks of all groups: those with a window have what max_seqs hold of them.
uint32_t n_pool_blocks(std::span<const uint32_t> windows, const PoolRoom& room);

// The first block that holds what the row after n_computed positions sees. A window of 0 sees all.
inline uint32_t first_block_seen(uint32_t window, uint32_t n_computed, uint32_t block_tokens) {
  return window == 0 || n_computed < window ? 0 : (n_computed + 1 - window) / block_tokens;
}

inline constexpr uint32_t kStateBlocks = 16;  // a state stays at the end of every so many blocks of a prompt

// Where sequences take blocks from, and slots for states; null: the model has no recurrent layers. Both pools have the
// same key and length of blocks.
struct CachePools {
  CachePools(BlockPool& of_blocks, BlockPool* of_states = nullptr)  // NOLINT(google-explicit-constructor): they are one
      : blocks(&of_blocks), states(of_states) {}
  BlockPool* blocks;
  BlockPool* states;
};

class SequenceCache {
 public:
  // A cache without a pool counts positions alone.
  SequenceCache() = default;
  // The cache keeps max_positions at most. Sequences of one cache_salt find each other's blocks; `owner`: whose names
  // the blocks get. It may be rolled back by max_rollback positions without losing what its windows need.
  SequenceCache(CachePools pools, uint64_t cache_salt, uint64_t owner, uint32_t max_positions,
                uint32_t max_rollback = 0);
  SequenceCache(SequenceCache&& other) noexcept { *this = std::move(other); }
  SequenceCache& operator=(SequenceCache&& other) noexcept;
  ~SequenceCache() { give_back(); }

  // Positions whose keys and values are there; they lie in the first blocks of every table.
  uint32_t n_computed() const { return n_computed_; }
  // The blocks of one group's layers, in the order of the positions that there is room for. The tables of all groups
  // are as long, and lie table_stride() blocks apart.
  std::span<const BlockId> table(uint32_t group = 0) const {
    return std::span(tables_).subspan(size_t{group} * table_stride(), n_blocks_);
  }
  uint32_t table_stride() const;
  // The blocks of the table that it holds: all but the first ones, which its window has left.
  std::span<const BlockId> held(uint32_t group = 0) const { return table(group).subspan(groups_[group].first_held); }
  // Blocks of all groups that it alone holds: so many are free when it gives all back.
  uint32_t n_own() const;
  // Blocks of all groups that it will take until n_positions are computed, n_rows at most at a time.
  uint32_t n_missing(uint32_t n_positions, uint32_t n_rows) const;

  // All three: `tokens` are the sequence's from position 0 on, of which the first `limit` may come from the cache.
  // Goes on with the longest run of whole cached blocks; n_computed must be a multiple of the block size.
  void adopt_blocks(std::span<const TokenId> tokens, uint32_t limit);
  // How many positions would be computed if the cached block that goes on longest were copied.
  uint32_t n_with_tail(std::span<const TokenId> tokens, uint32_t limit) const;
  // Copies it. False where there is none, or no free block.
  bool adopt_tail(std::span<const TokenId> tokens, uint32_t limit);

  // Makes room for n_positions, where the next step ends. False: too few blocks are free; those that were have been
  // taken.
  bool reserve(uint32_t n_positions);
  // The next n_new of `tokens`, the sequence's from position 0 on, have been computed. `as_prompt`: with the bits that
  // they would have in a prompt; whole blocks of such positions, with nothing else before them, can be found from now
  // on. Blocks that windows have left are given back. `keeps_state`: the state after them stays, where they end with a
  // block.
  void commit(std::span<const TokenId> tokens, uint32_t n_new, bool as_prompt, bool keeps_state = false);
  // The same for the rows of the last block, as far as they were committed.
  void offer_tail(std::span<const TokenId> tokens);
  // Forgets what was computed beyond n_computed, which lies in no block that can be found; and everything, where more
  // than max_rollback positions go and a window needs some that were given back. A state goes back to the mark, and the
  // positions after it are to be computed again; without a mark before n_computed, everything is.
  void rollback(uint32_t n_computed);

  bool has_states() const { return states_.is_used(); }
  const StateSlots& states() const { return states_; }
  // Where the next chunk of a text's first n_tokens has to end at the latest, so that a state can stay there: every
  // kStateBlocks blocks; the end of the text's last whole block, beyond which its own last token is computed anyway;
  // where other texts are known to part from it; and its end.
  uint32_t next_stop(uint32_t n_tokens) const;
  // Keeps the state that is there for rollback, until the next call.
  void mark() { states_.mark(); }
  void drop_mark() { states_.drop_mark(); }
  // Gives all blocks back.
  void release();

 private:
  struct Group {
    uint32_t first_held = 0;   // block of the table
    uint32_t first_found = 0;  // while a prefix is looked for: where the run of cached blocks begins
  };
  uint32_t n_groups() const { return static_cast<uint32_t>(groups_.size()); }
  std::span<const TokenId> tokens_of(std::span<const TokenId> tokens, uint32_t block) const;
  BlockId& entry(uint32_t group, uint32_t block) { return tables_[size_t{group} * table_stride() + block]; }
  uint32_t first_needed(uint32_t group, uint32_t n_computed) const;
  bool has_windows() const;
  uint32_t longest_usable(std::span<const TokenId> tokens, uint32_t end);
  uint32_t take_blocks(std::span<const TokenId> tokens, uint32_t end);
  bool take_column(uint32_t block, uint64_t hash, std::span<const TokenId> own, uint32_t end);
  bool take_state(uint64_t hash, std::span<const TokenId> own, uint32_t end);
  void drop_column(uint32_t block, uint32_t end_group, uint32_t end);
  void leave_windows(uint32_t n_computed, uint32_t n_taken);
  void name_computed(std::span<const TokenId> tokens);
  void name_state(std::span<const TokenId> tokens, bool stays);
  bool is_searched() const { return has_windows() || has_states(); }
  std::optional<uint32_t> find_tail(std::span<const TokenId> tokens) const;
  void give_back();

  BlockPool* pool_ = nullptr;
  uint64_t cache_salt_ = 0, owner_ = 0;
  uint32_t max_rollback_ = 0;
  std::vector<BlockId> tables_;  // [n_groups, table_stride]
  std::vector<Group> groups_;
  uint32_t n_blocks_ = 0;  // of each table; they cover at least [0, n_computed_)
  uint32_t n_computed_ = 0;
  uint32_t n_as_prompt_ = 0;  // leading positions that have the bits of a prompt's
  uint32_t n_named_ = 0;      // leading blocks that were offered
  uint64_t name_hash_ = 0;    // of the tokens in those
  uint64_t parent_hash_ = 0;  // of those in all but the last
  StateSlots states_;
  uint32_t n_cached_ = 0;  // positions whose blocks were found cached, whether or not a state is there
  // The last state that it named and that does not stay.
  struct {
    uint64_t hash = 0;  // 0: there is none
    uint32_t block = 0;
  } passing_;
};

}  // namespace realizar::kv
