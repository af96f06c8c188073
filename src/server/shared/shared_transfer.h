// A text whose pieces are sent to or fetched from Redis. The I/O thread creates and deletes it, since it holds a model;
// between the two, one thread at a time works on it: a worker, or the engine's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cached_prefix.h"
#include "engine/engine.h"
#include "engine/text_pieces.h"
#include "realizar/result.h"
#include "server/models/served_model.h"
#include "server/shared/fetch_pace.h"
#include "server/shared/shared_value.h"

namespace realizar::server {

struct SharedTransfer {
  using Clock = std::chrono::steady_clock;

  ServedModelPtr model;
  engine::Engine::PrefixSalt salt;
  std::string cache_name;
  uint64_t owner = 0;
  bool is_store = false;
  uint64_t n_forgotten = 0;     // forget() calls before it was created
  std::vector<TokenId> tokens;  // until `text` has them

  // Set by a worker.
  engine::PrefixShape shape;
  std::optional<engine::TextPieces> text;
  std::optional<SharedNames> names;
  engine::PieceFlags here;              // those in the engine's cache
  std::vector<engine::PieceAt> wanted;  // to fetch or to send, in the text's order
  size_t n_done = 0;                    // of these

  // For a transfer that a request waits for.
  std::function<void()> then;
  ComputeRate rate;
  Clock::time_point start, deadline;
  std::atomic<bool> is_over{false};
  std::atomic<bool> has_no_room{false};  // in the engine's cache
  uint32_t n_adding = 0;                 // slices being added to the cache
  bool waits_for_adding = false;

  SharedTransfer* next_gone = nullptr;

  uint32_t block_tokens() const { return text->rules().block_tokens; }
  size_t flag_of(const engine::PieceAt& piece) const {
    return size_t{piece.block} * text->rules().n_kinds() + piece.kind;
  }
  SharedPiece piece(const engine::PieceAt& at) const {
    return {shape.fingerprint, &names->root(), &names->chain_at(at.block), at.kind, text->tokens_of(at.block)};
  }
  size_t max_value_bytes_of(const engine::PieceAt& at) const {
    return max_value_bytes(block_tokens(), text->bytes_of(at.kind));
  }
  // The end of the pieces from n_done on with at most max_bytes in total: at least one, if any is left.
  size_t slice_end(size_t max_bytes) const {
    size_t n_bytes = 0, end = n_done;
    for (; end < wanted.size(); ++end) {
      n_bytes += text->bytes_of(wanted[end].kind);
      if (end > n_done && n_bytes > max_bytes) break;
    }
    return end;
  }
  size_t bytes_until(size_t end) const {
    size_t n_bytes = 0;
    for (size_t i = n_done; i < end; ++i) n_bytes += text->bytes_of(wanted[i].kind);
    return n_bytes;
  }
};
using SharedTransferPtr = std::shared_ptr<SharedTransfer>;

// The pieces of a text for which wants(piece) holds, in the text's order.
template <class Wants>
std::vector<engine::PieceAt> pieces_where(const engine::TextPieces& text, const Wants& wants) {
  std::vector<engine::PieceAt> pieces;
  for (uint32_t block = 0; block < text.n_blocks(); ++block) {
    for (uint32_t kind = 0; kind < text.rules().n_kinds(); ++kind) {
      const engine::PieceAt piece{block, kind};
      if (wants(piece)) pieces.push_back(piece);
    }
  }
  return pieces;
}

// Creates the text's pieces and names. Errors: Internal if the weights were not hashed: pieces of other weights could
// be mistaken for these.
Status name_text(SharedTransfer& transfer);

// Calls visit(piece, bytes) for the pieces from `begin` to `end`, whose bytes are consecutive.
template <class Bytes, class Visit>
void for_each_piece(const SharedTransfer& transfer, size_t begin, size_t end, std::span<Bytes> bytes,
                    const Visit& visit) {
  for (size_t i = begin; i < end; ++i) {
    const size_t n_bytes = transfer.text->bytes_of(transfer.wanted[i].kind);
    if (!visit(transfer.wanted[i], bytes.first(n_bytes))) return;
    bytes = bytes.subspan(n_bytes);
  }
}

}  // namespace realizar::server
