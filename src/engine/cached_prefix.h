// Moves one cached prefix out of the cache or into it, one piece at a time: the bytes of a block of one group of
// layers, or the state of recurrent layers after all tokens. Both classes hold the blocks and states that they need
// while they exist. The engine's thread, between steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kv/sequence_cache.h"

namespace realizar {
class Backend;
}

namespace realizar::engine {

// Decides whether the bytes of a prefix are usable by an engine.
struct PrefixShape {
  uint64_t fingerprint = 0;  // of program, weights, config, arithmetic and element type
  uint32_t block_tokens = 0, n_groups = 0;
  uint32_t max_tokens = 0;
  uint64_t block_bytes = 0, state_bytes = 0;  // of a piece; 0: the model has no states
};

// Number of pieces in a prefix: its blocks, group by group, each with the blocks that its window still needs, then its
// state.
struct PrefixCounts {
  uint64_t n_blocks = 0, n_states = 0;
  uint64_t n_pieces() const { return n_blocks + n_states; }
};

// The longest cached beginning of a text, which stays cached until it is released.
class HeldPrefix {
 public:
  HeldPrefix(kv::CachePools pools, const Backend& backend, std::span<const TokenId> tokens, uint64_t cache_salt);

  std::span<const TokenId> tokens() const { return tokens_; }
  PrefixCounts counts() const { return {blocks_.size(), names_.size() - blocks_.size()}; }
  const kv::BlockPool::Name& name_of(uint64_t piece) const { return names_[piece]; }
  // `bytes`: the backend's block_bytes in size, or state_bytes if the piece is the state.
  void read(uint64_t piece, std::span<std::byte> bytes) const;

 private:
  const Backend* backend_;
  kv::SequenceCache cache_;
  std::vector<TokenId> tokens_;
  std::vector<BlockId> blocks_;             // one for each piece
  std::vector<kv::BlockPool::Name> names_;  // one for each piece
};

// A prefix that becomes cached once all of its pieces are added.
class NewPrefix {
 public:
  NewPrefix(kv::CachePools pools, Backend& backend, std::vector<TokenId> tokens)
      : pools_(pools), backend_(backend), tokens_(std::move(tokens)) {}
  NewPrefix(const NewPrefix&) = delete;
  NewPrefix& operator=(const NewPrefix&) = delete;
  ~NewPrefix();

  // Adds the next block of a group; a second name covers its first n_short_tokens. False: none is free.
  bool add_block(uint32_t group, uint32_t n_short_tokens, std::span<const std::byte> bytes);
  // Adds the state, once, if the model has states. False: no slot is free.
  bool add_state(std::span<const std::byte> bytes);
  // Names all pieces as `owner`'s, so that requests with that salt find them. The last block of each group is the one
  // with the last token.
  void name(uint64_t cache_salt, uint64_t owner);

 private:
  struct Taken {
    BlockId block;
    uint32_t group, n_short_tokens;
  };

  kv::CachePools pools_;
  Backend& backend_;
  std::vector<TokenId> tokens_;
  std::vector<Taken> taken_;
  std::optional<BlockId> state_;
};

// Forgets the names of the cached beginning of a text; other texts with the same beginning lose it too. Returns the
// number of tokens that were cached.
uint32_t forget_prefix(kv::CachePools pools, std::span<const TokenId> tokens, uint64_t cache_salt);

}  // namespace realizar::engine
