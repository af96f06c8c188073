// Counters that one thread writes and any may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace realizar {

inline void add_to(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace realizar
