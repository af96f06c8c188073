// Moves an engine's cached blocks of a text to another engine, a piece at a time and the last ones first.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "engine/prefixes.h"

namespace realizar::test {

// Returns the number of pieces that were moved. Only pieces needed to continue after n_blocks are moved.
inline uint32_t move_pieces(engine::Engine& from, engine::Engine& to, const std::vector<TokenId>& tokens,
                            uint32_t n_blocks, uint64_t cache_salt = 0) {
  const auto source = from.prefixes().pieces_of(tokens, cache_salt, 0);
  const auto target = to.prefixes().pieces_of(tokens, cache_salt, 0);
  uint32_t n_moved = 0;
  for (uint32_t block = n_blocks; block-- > 0;) {
    for (uint32_t kind = 0; kind < source.rules().n_kinds(); ++kind) {
      const engine::PieceAt piece{block, kind};
      std::vector<std::byte> bytes(source.bytes_of(kind));
      const bool is_moved =
          source.rules().needs(piece, n_blocks) && source.read(piece, bytes) && target.add(piece, bytes);
      n_moved += is_moved ? 1 : 0;
    }
  }
  return n_moved;
}

// The number of blocks after which a request can continue.
inline uint32_t usable_blocks(engine::Engine& engine, const std::vector<TokenId>& tokens, uint64_t cache_salt = 0) {
  const auto pieces = engine.prefixes().pieces_of(tokens, cache_salt, 0);
  return engine::longest_usable(pieces.rules(), pieces.n_blocks(), pieces.find());
}

}  // namespace realizar::test
