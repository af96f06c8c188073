#include "backend/cuda/device/arena.h"

#include <algorithm>

namespace realizar::cuda {
namespace {

// Chunks are multiples of the driver's mapping size, and double starting from one, so that small models use little.
constexpr size_t kPieceBytes = size_t{2} << 20;

size_t whole_pieces(size_t n_bytes) {
  return (n_bytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
}

}  // namespace

// Requests larger than half of a shared allocation get their own.
size_t Arena::next_chunk_bytes(size_t n_bytes, size_t n_allocated, size_t n_chunks) const {
  const size_t most = device_.shared_allocation_bytes();
  if (most == 0) return n_bytes;
  const size_t least = whole_pieces(n_bytes);
  if (n_bytes > most / 2) return least;
  const size_t wanted = std::min(most, kPieceBytes << std::min<size_t>(n_chunks, 16));
  const size_t left = limit_ > n_allocated ? (limit_ - n_allocated) / kPieceBytes * kPieceBytes : 0;
  return std::max(least, std::min(wanted, left));
}

// The chunk for the next n_bytes: the first with room, or a new one, whose memory is not allocated yet.
Arena::Chunk& Arena::place(std::vector<Chunk>& chunks, size_t& n_allocated, size_t n_bytes) const {
  auto chunk = std::ranges::find_if(chunks, [&](const Chunk& c) { return c.n_bytes - c.n_taken >= n_bytes; });
  if (chunk == chunks.end()) {
    const size_t n_chunk = next_chunk_bytes(n_bytes, n_allocated, chunks.size());
    n_allocated += n_chunk;
    chunk = chunks.insert(chunks.end(), {nullptr, n_chunk, 0});
  }
  chunk->n_taken += n_bytes;
  return *chunk;
}

Result<void*> Arena::take(size_t n_bytes) {
  n_bytes = aligned_bytes(n_bytes);
  Chunk& chunk = place(chunks_, n_allocated_, n_bytes);
  if (chunk.memory == nullptr) {
    const Result<void*> memory = device_.allocate(chunk.n_bytes);
    if (!memory.ok()) {
      n_allocated_ -= chunk.n_bytes;
      chunks_.pop_back();
      return memory.error();
    }
    chunk.memory = static_cast<std::byte*>(*memory);
  }
  return chunk.memory + chunk.n_taken - n_bytes;
}

size_t Arena::n_allocated_with(std::span<const size_t> sizes) const {
  std::vector<Chunk> chunks = chunks_;
  size_t n_allocated = n_allocated_;
  for (const size_t n_bytes : sizes) {
    if (n_bytes > 0) place(chunks, n_allocated, aligned_bytes(n_bytes));
  }
  return n_allocated;
}

}  // namespace realizar::cuda
