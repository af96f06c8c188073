// One cached prefix on its way out of the cache or into it, a piece at a time: the bytes of a block of one group of
// layers, or the state of recurrent layers after all tokens. Both hold what they need of the cache while they are
// there. The engine's thread, between steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "kv/sequence_cache.h"

namespace realizar::engine {

// What decides whether the bytes of a prefix are of use to an engine.
struct PrefixShape {
  uint64_t fingerprint = 0;  // of program, weights, config, arithmetic and element type
  uint32_t block_tokens = 0, n_groups = 0;
  uint32_t max_tokens = 0;
  uint64_t block_bytes = 0, state_bytes = 0;  // of a piece; 0: there are no states
};

// What a prefix consists of. Its pieces are the blocks of the first group, then those of the next, then the state.
struct PrefixLayout {
  uint32_t n_tokens = 0;
  std::vector<uint32_t> first_blocks;  // of each group: a window has left the blocks before it
  std::vector<uint32_t> short_tokens;  // of each piece that is a block: its first rows that another name stands for
  bool has_state = false;

  uint32_t n_blocks(uint32_t block_tokens) const { return (n_tokens + block_tokens - 1) / block_tokens; }
  uint32_t n_pieces(uint32_t block_tokens) const { return n_block_pieces(block_tokens) + (has_state ? 1 : 0); }
  uint32_t n_block_pieces(uint32_t block_tokens) const;
  uint64_t n_bytes(const PrefixShape& shape) const;
};

// The longest cached beginning of a text, which stays cached until it is given back.
class HeldPrefix {
 public:
  HeldPrefix(kv::CachePools pools, std::span<const TokenId> tokens, uint64_t cache_salt);

  const PrefixLayout& layout() const { return layout_; }
  // `bytes`: as many as the backend's block_bytes, or state_bytes where the piece is the state.
  void read(uint32_t piece, const Backend& backend, std::span<std::byte> bytes) const;

 private:
  kv::SequenceCache cache_;
  PrefixLayout layout_;
  std::vector<BlockId> blocks_;  // of the pieces
};

// A prefix that becomes cached when all of its pieces are there.
class NewPrefix {
 public:
  // The layout's counts must fit the pools and the tokens.
  NewPrefix(kv::CachePools pools, PrefixLayout layout, std::vector<TokenId> tokens);
  NewPrefix(const NewPrefix&) = delete;
  NewPrefix& operator=(const NewPrefix&) = delete;
  ~NewPrefix();

  // The next piece. False: no block, or no slot for a state, is free.
  bool add(Backend& backend, std::span<const std::byte> bytes);
  // Names all of it, as `owner`'s, so that requests of that salt find it. Precondition: add() for every piece.
  void name(uint64_t cache_salt, uint64_t owner);

 private:
  bool is_next_state() const { return layout_.has_state && taken_.size() + 1 == n_pieces_; }

  kv::CachePools pools_;
  PrefixLayout layout_;
  std::vector<TokenId> tokens_;
  uint32_t n_pieces_;
  std::vector<BlockId> taken_;
  std::optional<BlockId> state_;
};

// Forgets the names of a text's beginning, as far as it is cached; other texts that begin so lose it too. Gives the
// number of tokens that were cached.
uint32_t forget_prefix(kv::CachePools pools, std::span<const TokenId> tokens, uint64_t cache_salt);

}  // namespace realizar::engine
