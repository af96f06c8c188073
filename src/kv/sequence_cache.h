// One sequence's share of the KV cache: its blocks, how far they are computed, and what later sequences can reuse. Only
// this class deals with block tables and names. It allocates its capacity at construction, so steps allocate nothing.
// One thread, that of its pool.
//
// Each group of layers has a table. In a group with a window, blocks that the window has left are released; their
// entries in the table then name a block that is still held, since a kernel may read a few positions whose weight is
// zero.
//
// A model with recurrent layers also has states, in slots of a separate pool (state_slots.h). Its prefix can be reused
// only if a state exists after exactly these positions, so states are named at the ends of blocks, by the hash of the
// block. States where a chunk was made to end stay until they are least recently used; of the others, only the last one
// of each sequence stays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kv/block_pool.h"
#include "kv/state_slots.h"

namespace realizar::kv {

// The most blocks of a group that a sequence holds, with n_positions in all and at most n_rows in a step.
uint32_t max_blocks_held(uint32_t window, uint64_t n_positions, uint32_t n_rows, uint32_t block_tokens);

// The capacity of a pool.
struct PoolRoom {
  uint32_t n_blocks = 0;       // for a group without a window
  uint32_t max_seqs = 1;       // that run at the same time
  uint32_t max_positions = 0;  // of one sequence
  uint32_t max_rows = 1;       // of a sequence in a step, including positions that may be rolled back
  uint32_t block_tokens = 32;
};
// Blocks of all groups; for groups with a window, as many as max_seqs sequences hold.
uint32_t n_pool_blocks(std::span<const uint32_t> windows, const PoolRoom& room);

// The first block that the row after n_computed positions sees. With a window of 0 it sees all.
inline uint32_t first_block_seen(uint32_t window, uint32_t n_computed, uint32_t block_tokens) {
  return window == 0 || n_computed < window ? 0 : (n_computed + 1 - window) / block_tokens;
}

inline constexpr uint32_t kStateBlocks = 16;  // in a prompt, a state stays after this many blocks

// The pools of blocks and of slots for states; the latter is null if the model has no recurrent layers. Both have the
// same key and block length.
struct CachePools {
  CachePools(BlockPool& of_blocks, BlockPool* of_states = nullptr)  // NOLINT(google-explicit-constructor): they belong
                                                                    // together
      : blocks(&of_blocks), states(of_states) {}
  BlockPool* blocks;
  BlockPool* states;
};

class SequenceCache {
 public:
  // A cache without a pool only counts positions.
  SequenceCache() = default;
  // The cache keeps at most max_positions. Sequences with the same cache_salt find each other's blocks; `owner`: the
  // owner of the blocks' names. It can be rolled back by max_rollback positions without losing what its windows need.
  SequenceCache(CachePools pools, uint64_t cache_salt, uint64_t owner, uint32_t max_positions,
                uint32_t max_rollback = 0);
  SequenceCache(SequenceCache&& other) noexcept { *this = std::move(other); }
  SequenceCache& operator=(SequenceCache&& other) noexcept;
  ~SequenceCache() { give_back(); }

  // Positions with computed keys and values; they are in the first blocks of every table.
  uint32_t n_computed() const { return n_computed_; }
  // The blocks of one group's layers, in the order of positions, including reserved ones. The tables of all groups have
  // the same length and are table_stride() blocks apart.
  std::span<const BlockId> table(uint32_t group = 0) const {
    return std::span(tables_).subspan(size_t{group} * table_stride(), n_blocks_);
  }
  uint32_t table_stride() const;
  // The blocks of the table that the sequence holds: all but the first ones, which its window has left.
  std::span<const BlockId> held(uint32_t group = 0) const { return table(group).subspan(groups_[group].first_held); }
  // Blocks of all groups that only this sequence holds: so many become free when it is released.
  uint32_t n_own() const;
  // Blocks of all groups that it will need to compute up to n_positions, at most n_rows at a time.
  uint32_t n_missing(uint32_t n_positions, uint32_t n_rows) const;

  // For all three functions: `tokens` are the sequence's from position 0 on, of which the first `limit` may come from
  // the cache. Takes the longest run of whole cached blocks; n_computed must be a multiple of the block size.
  void adopt_blocks(std::span<const TokenId> tokens, uint32_t limit);
  // How many positions would be computed after copying the cached block with the longest match.
  uint32_t n_with_tail(std::span<const TokenId> tokens, uint32_t limit) const;
  // Copies that block. False if there is none, or no free block.
  bool adopt_tail(std::span<const TokenId> tokens, uint32_t limit);

  // Makes room for n_positions, where the next step ends. False: too few blocks are free; the free ones have been
  // taken.
  bool reserve(uint32_t n_positions);
  // Records that the next n_new of `tokens`, the sequence's from position 0 on, have been computed. `as_prompt`:
  // bit-identical to a prompt's; whole blocks of such positions, if all positions before them are too, can be found
  // from now on. Blocks that windows have left are released. `keeps_state`: the state after them stays, if they end
  // with a block.
  void commit(std::span<const TokenId> tokens, uint32_t n_new, bool as_prompt, bool keeps_state = false);
  // Likewise for the committed rows of the last block.
  void offer_tail(std::span<const TokenId> tokens);
  // Forgets everything computed beyond n_computed, none of which is in a named block. Forgets all positions if more
  // than max_rollback go and a window needs released ones. A state goes back to the mark, and the positions after it
  // must be computed again; without a mark before n_computed, all positions.
  void rollback(uint32_t n_computed);

  bool has_states() const { return states_.is_used(); }
  const StateSlots& states() const { return states_; }
  // The latest end of the next chunk of a text's first n_tokens, so that a state can be kept there: every kStateBlocks
  // blocks; the end of the text's last whole block that does not hold its last token, which is computed anyway; where
  // other texts are known to branch off; and the end.
  uint32_t next_stop(uint32_t n_tokens) const;
  // Keeps the current state for rollback, until the next call.
  void mark() { states_.mark(); }
  void drop_mark() { states_.drop_mark(); }
  // Releases all blocks.
  void release();

 private:
  struct Group {
    uint32_t first_held = 0;   // index in the table
    uint32_t first_found = 0;  // during a prefix lookup: where the run of cached blocks begins
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
  uint32_t n_blocks_ = 0;  // in each table; they cover at least [0, n_computed_)
  uint32_t n_computed_ = 0;
  uint32_t n_as_prompt_ = 0;  // leading positions that are bit-identical to a prompt's
  uint32_t n_named_ = 0;      // leading blocks that were named
  uint64_t name_hash_ = 0;    // of the tokens in those
  uint64_t parent_hash_ = 0;  // of the tokens in all but the last one
  StateSlots states_;
  uint32_t n_cached_ = 0;  // positions whose blocks were cached, with or without a state
  // The last state that the sequence named and that does not stay.
  struct {
    uint64_t hash = 0;  // 0: none
    uint32_t block = 0;
  } passing_;
};

}  // namespace realizar::kv
