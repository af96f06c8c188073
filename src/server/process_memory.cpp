#include "server/process_memory.h"

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace realizar::server {

void return_large_blocks() {
#if defined(__GLIBC__)
  // Left to itself the threshold grows up to 32 MB, and bodies of requests stay in the heap.
  constexpr int kThresholdBytes = 128 << 10;
  mallopt(M_MMAP_THRESHOLD, kThresholdBytes);
#endif
}

void give_memory_back() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace realizar::server
