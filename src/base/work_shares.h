// Spreads n items over a team: each member has a contiguous range, the same in every loop over n items, so that it
// reads memory sequentially and memory that it touched first; members that finish early help the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace realizar {

// The first item of a member's range; n for member n_members.
inline uint32_t first_of_share(uint32_t n, uint32_t member, uint32_t n_members) {
  return static_cast<uint32_t>(uint64_t{n} * member / n_members);
}

// Calls body(i) once for each i < n, on one of the members, all of which must call this with the same n. taken:
// [n_members], all zero before the first call. Members take half of the remaining range at a time.
template <class Body>
void share_work(std::atomic<uint32_t>* taken, uint32_t n, uint32_t member, uint32_t n_members, const Body& body) {
  for (uint32_t k = 0; k < n_members; ++k) {
    const uint32_t owner = (member + k) % n_members;
    const uint32_t begin = first_of_share(n, owner, n_members), size = first_of_share(n, owner + 1, n_members) - begin;
    for (uint32_t first = taken[owner].load(std::memory_order_relaxed); first < size;) {
      const uint32_t end = first + std::max(1u, (size - first) / 2);
      if (!taken[owner].compare_exchange_weak(first, end, std::memory_order_relaxed)) continue;
      for (uint32_t i = first; i < end; ++i) body(begin + i);
      first = taken[owner].load(std::memory_order_relaxed);
    }
  }
}

}  // namespace realizar
