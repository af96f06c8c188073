#include "server/http/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace realizar::server {
namespace {

// Listening, logs, models and their side files, devices; of a small limit a quarter.
constexpr uint64_t kOwnFiles = 64;

}  // namespace

uint64_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return UINT64_MAX;
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

uint32_t max_connections_under(uint64_t file_limit) {
  const uint64_t n_own = std::min(kOwnFiles, file_limit / 4);
  return static_cast<uint32_t>(std::clamp<uint64_t>(file_limit - n_own, 1, UINT32_MAX));
}

}  // namespace realizar::server
