// The pieces of one text's whole blocks in an engine's cache, indexed by their position in the text, so that they can
// be read or added one at a time, in any order: for each block one piece per group of layers, and the state after it if
// layers are recurrent. Created on any thread, since it hashes the text; the rest belongs to the engine's thread,
// between steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/sequence_cache.h"

namespace realizar {
class Backend;
}

namespace realizar::engine {

// The index of a piece. Kinds are the groups of layers, then, if there are states, one more for them.
struct PieceAt {
  uint32_t block = 0, kind = 0;
  bool operator==(const PieceAt&) const = default;
};

// The properties of a cache that decide which pieces a prefix needs.
struct PieceRules {
  uint32_t block_tokens = 0;
  std::vector<uint32_t> windows;  // of the groups; 0: all positions are seen
  bool has_states = false;

  uint32_t n_kinds() const { return static_cast<uint32_t>(windows.size()) + (has_states ? 1 : 0); }
  bool is_state(uint32_t kind) const { return kind == windows.size(); }
  // Whether a sequence that continues after the first n_blocks reads the piece.
  bool needs(const PieceAt& piece, uint32_t n_blocks) const;
};

// Which pieces exist: [n_blocks, n_kinds].
using PieceFlags = std::vector<bool>;

// The largest number of leading blocks, at most n_blocks, whose needed pieces all exist.
uint32_t longest_usable(const PieceRules& rules, uint32_t n_blocks, const PieceFlags& are_there);

class TextPieces {
 public:
  TextPieces(kv::CachePools pools, Backend& backend, std::vector<TokenId> tokens, uint64_t cache_salt, uint64_t owner);

  const PieceRules& rules() const { return rules_; }
  uint32_t n_blocks() const { return static_cast<uint32_t>(hashes_.size()); }
  std::span<const TokenId> tokens_of(uint32_t block) const;
  size_t bytes_of(uint32_t kind) const;
  // The name of the block in this engine's cache.
  uint64_t hash_of(uint32_t block) const { return hashes_[block]; }

  // For the engine's thread:
  PieceFlags find() const;
  // Makes the pieces that the first n_blocks need the most recently used ones, and restores those in host memory.
  void touch(uint32_t n_blocks) const;
  // `bytes`: bytes_of(kind). False: not cached, or in host memory while no block is free.
  bool read(const PieceAt& piece, std::span<std::byte> bytes) const;
  // False: no block is free for it. A piece that is already cached stays as it is.
  bool add(const PieceAt& piece, std::span<const std::byte> bytes) const;

 private:
  kv::BlockPool& pool_of(uint32_t kind) const { return rules_.is_state(kind) ? *pools_.states : *pools_.blocks; }
  uint32_t group_of(uint32_t kind) const { return rules_.is_state(kind) ? 0 : kind; }
  std::optional<BlockId> take(const PieceAt& piece) const;

  kv::CachePools pools_;
  Backend* backend_;
  std::vector<TokenId> tokens_;
  uint64_t owner_;
  uint64_t root_hash_;
  std::vector<uint64_t> hashes_;  // of the whole blocks
  PieceRules rules_;
};

}  // namespace realizar::engine
