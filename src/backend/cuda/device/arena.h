// Memory for many small objects that live as long as the device. They share large allocations, since a driver maps
// memory in pieces of megabytes, and separate allocations would waste most of one each. Counts allocated memory.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/device/device.h"

namespace realizar::cuda {

class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}

  // No allocation exceeds this total if a smaller one suffices.
  void set_limit(size_t n_bytes) { limit_ = n_bytes; }
  // Aligned to kAllocationAlign. Errors: ResourceExhausted.
  Result<void*> take(size_t n_bytes);
  // Allocated bytes, now and after taking these sizes, in this order.
  size_t n_allocated() const { return n_allocated_; }
  size_t n_allocated_with(std::span<const size_t> sizes) const;

 private:
  struct Chunk {
    std::byte* memory;
    size_t n_bytes, n_taken;
  };

  Chunk& place(std::vector<Chunk>& chunks, size_t& n_allocated, size_t n_bytes) const;
  size_t next_chunk_bytes(size_t n_bytes, size_t n_allocated, size_t n_chunks) const;

  Device& device_;
  std::vector<Chunk> chunks_;
  size_t limit_ = SIZE_MAX, n_allocated_ = 0;
};

}  // namespace realizar::cuda
