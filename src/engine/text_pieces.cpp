#include "engine/text_pieces.h"

#include <algorithm>
#include <utility>

#include "backend/backend.h"
#include "base/check.h"

namespace realizar::engine {

bool PieceRules::needs(const PieceAt& piece, uint32_t n_blocks) const {
  if (piece.block >= n_blocks) return false;
  if (is_state(piece.kind)) return piece.block + 1 == n_blocks;
  return piece.block >= kv::first_block_seen(windows[piece.kind], n_blocks * block_tokens, block_tokens);
}

// For each kind that needs several blocks, the beginning of the run of existing ones.
uint32_t longest_usable(const PieceRules& rules, uint32_t n_blocks, const PieceFlags& are_there) {
  const auto n_groups = static_cast<uint32_t>(rules.windows.size());
  std::vector<uint32_t> run_begins(n_groups, 0);
  uint32_t longest = 0;
  for (uint32_t block = 0; block < n_blocks; ++block) {
    const size_t row = size_t{block} * rules.n_kinds();
    bool is_usable = !rules.has_states || are_there[row + n_groups];
    for (uint32_t group = 0; group < n_groups; ++group) {
      if (!are_there[row + group]) run_begins[group] = block + 1;
      const uint32_t n_positions = (block + 1) * rules.block_tokens;
      const uint32_t first = kv::first_block_seen(rules.windows[group], n_positions, rules.block_tokens);
      is_usable = is_usable && run_begins[group] <= first;
    }
    if (is_usable) longest = block + 1;
  }
  return longest;
}

TextPieces::TextPieces(kv::CachePools pools, Backend& backend, std::vector<TokenId> tokens, uint64_t cache_salt,
                       uint64_t owner)
    : pools_(pools), backend_(&backend), tokens_(std::move(tokens)), owner_(owner) {
  const kv::BlockPool& pool = *pools.blocks;
  rules_.block_tokens = pool.block_tokens();
  rules_.has_states = pools.states != nullptr;
  for (uint32_t group = 0; group < pool.n_groups(); ++group) rules_.windows.push_back(pool.window(group));
  root_hash_ = pool.root_hash(cache_salt);
  uint64_t hash = root_hash_;
  const size_t n_blocks = tokens_.size() / pool.block_tokens();
  hashes_.reserve(n_blocks);
  for (uint32_t block = 0; block < n_blocks; ++block) hashes_.push_back(hash = pool.hash_after(hash, tokens_of(block)));
}

std::span<const TokenId> TextPieces::tokens_of(uint32_t block) const {
  return std::span(tokens_).subspan(size_t{block} * rules_.block_tokens, rules_.block_tokens);
}

size_t TextPieces::bytes_of(uint32_t kind) const {
  return rules_.is_state(kind) ? backend_->state_bytes() : backend_->block_bytes();
}

PieceFlags TextPieces::find() const {
  PieceFlags are_there;
  are_there.reserve(size_t{n_blocks()} * rules_.n_kinds());
  for (uint32_t block = 0; block < n_blocks(); ++block) {
    for (uint32_t kind = 0; kind < rules_.n_kinds(); ++kind) {
      are_there.push_back(pool_of(kind).is_named(hashes_[block], tokens_of(block), group_of(kind)));
    }
  }
  return are_there;
}

std::optional<BlockId> TextPieces::take(const PieceAt& piece) const {
  return pool_of(piece.kind).take_named(hashes_[piece.block], tokens_of(piece.block), group_of(piece.kind));
}

// Releases the last blocks first, so that the text's beginning stays cached longest.
void TextPieces::touch(uint32_t n_blocks) const {
  for (uint32_t block = n_blocks; block-- > 0;) {
    for (uint32_t kind = 0; kind < rules_.n_kinds(); ++kind) {
      const PieceAt piece{block, kind};
      const auto id = rules_.needs(piece, n_blocks) ? take(piece) : std::nullopt;
      if (id) pool_of(kind).release(*id);
    }
  }
}

bool TextPieces::read(const PieceAt& piece, std::span<std::byte> bytes) const {
  const auto id = take(piece);
  if (!id) return false;
  if (rules_.is_state(piece.kind)) {
    backend_->read_state(StateId{to_index(*id)}, bytes);
  } else {
    backend_->read_block(*id, bytes);
  }
  pool_of(piece.kind).release(*id);
  return true;
}

bool TextPieces::add(const PieceAt& piece, std::span<const std::byte> bytes) const {
  REQUIRE(piece.block < n_blocks() && piece.kind < rules_.n_kinds() && bytes.size() == bytes_of(piece.kind));
  kv::BlockPool& pool = pool_of(piece.kind);
  const uint32_t group = group_of(piece.kind);
  const auto own = tokens_of(piece.block);
  if (pool.is_named(hashes_[piece.block], own, group)) return true;
  const auto id = pool.allocate();
  if (!id) return false;
  if (rules_.is_state(piece.kind)) {
    backend_->write_state(StateId{to_index(*id)}, bytes);
  } else {
    backend_->write_block(*id, bytes);
  }
  const uint64_t parent = piece.block == 0 ? root_hash_ : hashes_[piece.block - 1];
  pool.restore_name(*id, {parent, hashes_[piece.block], owner_, own, 0, group});
  pool.release(*id);
  return true;
}

}  // namespace realizar::engine
