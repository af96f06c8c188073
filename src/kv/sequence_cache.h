// What one sequence keeps in the KV cache: its blocks, how far they are computed, and what of it later sequences find.
// It alone deals with block tables and names. All capacity is taken when it is made, so that steps allocate nothing.
// One thread, that of its pool.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kv/block_pool.h"

namespace realizar {

class SequenceCache {
 public:
  // Without a pool: counts positions alone.
  SequenceCache() = default;
  // Of max_positions at most. Sequences of one cache_salt find each other's blocks; `owner`: whose names they get.
  SequenceCache(BlockPool& pool, uint64_t cache_salt, uint64_t owner, uint32_t max_positions);
  SequenceCache(SequenceCache&& other) noexcept { *this = std::move(other); }
  SequenceCache& operator=(SequenceCache&& other) noexcept;
  ~SequenceCache() { give_back(); }

  // Positions whose keys and values are there; they lie in the first of `blocks`.
  uint32_t n_computed() const { return n_computed_; }
  std::span<const BlockId> blocks() const { return blocks_; }

  // All three: `tokens` are the sequence's from position 0 on, of which the first `limit` may come from the cache.
  // Goes on with the longest run of whole cached blocks; n_computed must be a multiple of the block size.
  void adopt_blocks(std::span<const TokenId> tokens, uint32_t limit);
  // How many positions would be computed if the cached block that goes on longest were copied.
  uint32_t n_with_tail(std::span<const TokenId> tokens, uint32_t limit) const;
  // Copies it. False where there is none, or no free block.
  bool adopt_tail(std::span<const TokenId> tokens, uint32_t limit);

  // Makes room for n_positions. False: too few blocks are free; those that were have been taken.
  bool reserve(uint32_t n_positions);
  // The next n_new of `tokens`, the sequence's from position 0 on, have been computed. `as_prompt`: with the bits that
  // they would have in a prompt; whole blocks of such positions, with nothing else before them, can be found from now
  // on.
  void commit(std::span<const TokenId> tokens, uint32_t n_new, bool as_prompt);
  // The same for the rows of the last block, as far as they were committed.
  void offer_tail(std::span<const TokenId> tokens);
  // Forgets what was computed beyond n_computed, which lies in no block that can be found.
  void rollback(uint32_t n_computed);
  // Gives all blocks back.
  void release();

 private:
  std::optional<BlockPool::Tail> find_tail(std::span<const TokenId> tokens) const;
  void give_back();

  BlockPool* pool_ = nullptr;
  uint64_t cache_salt_ = 0, owner_ = 0;
  std::vector<BlockId> blocks_;  // cover at least [0, n_computed_)
  uint32_t n_computed_ = 0;
  uint32_t n_as_prompt_ = 0;  // leading positions that have the bits of a prompt's
  uint32_t n_named_ = 0;      // leading blocks that were offered
  uint64_t name_hash_ = 0;    // of the tokens in those
};

}  // namespace realizar
