#include "server/http/stop_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

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

void on_reopen_signal(int) {
  add_one(reopen_fd.load());
}

Status make_counter(std::atomic<int>& fd) {
  if (fd.load() < 0) fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd.load() >= 0) return {};
  return Error{ErrorCode::kResourceExhausted, std::string("eventfd: ") + std::strerror(errno), ""};
}

}  // namespace

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
  action.sa_handler = on_reopen_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  return reopen_fd.load();
}

}  // namespace realizar::server
