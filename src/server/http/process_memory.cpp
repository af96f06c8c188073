#include "server/http/process_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

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

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t n_pages = 0, n_resident_pages = 0;
  if (!(statm >> n_pages >> n_resident_pages)) return 0;
  return n_resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace realizar::server
