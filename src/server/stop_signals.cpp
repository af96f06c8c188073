#include "server/stop_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

namespace realizar::server {
namespace {

// A signal handler reaches its work through globals only.
std::atomic<int> told_fd{-1};
std::atomic<int> n_signals{0};

void on_signal(int) {
  if (n_signals.fetch_add(1) > 0) _exit(kEndedAtOnce);
  const int errno_before = errno;
  const uint64_t one = 1;
  static_cast<void>(write(told_fd.load(), &one, sizeof one) == sizeof one);
  errno = errno_before;
}

}  // namespace

Result<int> catch_stop_signals() {
  if (told_fd.load() < 0) told_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (told_fd.load() < 0) {
    return Error{ErrorCode::kResourceExhausted, std::string("eventfd: ") + std::strerror(errno), ""};
  }
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

}  // namespace realizar::server
