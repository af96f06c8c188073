#include "server/http/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace realizar::server {

void return_large_blocks() {
#if defined(__GLIBC__)
  // By default the threshold grows up to 32 MB, and request bodies stay in the heap.
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

uint64_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return UINT64_MAX;
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

uint32_t max_connections_under(uint64_t file_limit) {
  constexpr uint64_t kOwnFiles =
      64;  // listening sockets, logs, models and their side files, devices; a quarter of a small limit
  const uint64_t n_own = std::min(kOwnFiles, file_limit / 4);
  return static_cast<uint32_t>(std::clamp<uint64_t>(file_limit - n_own, 1, UINT32_MAX));
}

}  // namespace realizar::server
