#include "server/http/process.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/try.h"

namespace realizar::server {
namespace {

// A signal handler can only use globals.
std::atomic<int> told_fd{-1}, reopen_fd{-1};
std::atomic<int> n_signals{0};

void add_one(int fd) {
  const int errno_before = errno;
  const uint64_t one = 1;
  static_cast<void>(write(fd, &one, sizeof one) == sizeof one);
  errno = errno_before;
}

void on_signal(int) {
  if (n_signals.fetch_add(1) > 0) _exit(kEndedAtOnce);
  add_one(told_fd.load());
}

Status make_counter(std::atomic<int>& fd) {
  if (fd.load() < 0) fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd.load() >= 0) return {};
  return Error{ErrorCode::kResourceExhausted, std::string("eventfd: ") + std::strerror(errno), ""};
}

}  // namespace

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

Result<int> catch_stop_signals() {
  RZ_CHECK_OK(make_counter(told_fd));
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    const bool is_ignored = before.sa_handler == SIG_IGN && number != SIGTERM;
    if (!is_ignored) sigaction(number, &action, nullptr);
  }
  return told_fd.load();
}

Result<int> catch_reopen_signal() {
  RZ_CHECK_OK(make_counter(reopen_fd));
  struct sigaction action {};
  action.sa_handler = [](int) { add_one(reopen_fd.load()); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  return reopen_fd.load();
}

}  // namespace realizar::server
