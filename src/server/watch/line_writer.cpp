#include "server/watch/line_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/caught.h"
#include "base/try.h"

namespace realizar::server {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxWaitingBytes = 4u << 20;
constexpr auto kMostTimeToEnd = 1s;
constexpr int kPollMs = 100;

// If required, a file that others could read is made accessible only to its owner.
Result<FileDescriptor> open_to_append(const std::string& path, Readers readers) {
  const bool is_private = readers == Readers::kOwnerAlone;
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  FileDescriptor fd(::open(path.c_str(), kFlags, is_private ? 0600 : 0644));
  if (fd.get() < 0 && errno == ENXIO)
    return invalid_argument(path + ": a pipe without a reader; start its reader first", path);
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return invalid_argument(path + ": " + std::strerror(errno), path);
  const bool is_open_to_others = is_private && S_ISREG(info.st_mode) && (info.st_mode & 077) != 0;
  if (is_open_to_others && ::fchmod(fd.get(), 0600) != 0) {
    return invalid_argument(fmt::format("{}: it has prompts, and others may read it (mode {:04o}): {}", path,
                                        info.st_mode & 07777, std::strerror(errno)),
                            path);
  }
  return fd;
}

}  // namespace

struct LineWriter::State {
  State(std::string name_, int fd_, void (*on_first_loss_)(const std::string&))
      : name(std::move(name_)), fd(fd_), on_first_loss(on_first_loss_) {}

  // A line, or a request to reopen the file.
  using Item = std::optional<std::string>;

  void run() {
    // A closed reader is an error like others, not a signal.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    uint64_t n_dropped_before = 0;
    for (Item item; next(item);) {
      if (!item) {
        static_cast<void>(caught([&] { open_anew(); }));
        continue;
      }
      // A line without memory for it is lost like others.
      if (!caught([&] { put(*item); }).ok()) ++n_lost;
      const bool has_dropped = std::exchange(n_dropped_before, n_lost.load()) < n_lost;
      if (!has_dropped || std::exchange(has_told_loss, true)) continue;
      static_cast<void>(caught([&] { on_first_loss(name + ": it is not read fast enough"); }));
    }
    const std::lock_guard lock(mutex);
    has_ended = true;
    changed.notify_all();
  }

  // False when nobody waits for the end any more.
  bool next(Item& item) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopping || !items.empty(); });
    if (items.empty()) return false;
    item = std::move(items.front());
    items.pop_front();
    if (item) n_waiting_bytes -= item->size();
    return true;
  }

  void open_anew() {
    Result<FileDescriptor> opened = open_to_append(name, readers);
    if (!opened.ok()) return spdlog::error("{}; lines go on in the old file", opened.error().message);
    own = std::move(*opened);
    fd = own.get();
    is_in_line = false;
  }

  void put(const std::string& line) {
    const std::string text = (is_in_line ? "\n" : "") + line + "\n";
    size_t n_written = 0;
    while (n_written < text.size()) {
      if (!wait_until_writable()) return lose("nobody reads it");
      // A pipe that is ready takes this much without blocking, even one that must not be made non-blocking.
      const size_t n_bytes = std::min<size_t>(text.size() - n_written, PIPE_BUF);
      const ssize_t n = ::write(fd, text.data() + n_written, n_bytes);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n < 0) {
        is_in_line = is_in_line || n_written > 0;
        return lose(std::strerror(errno));
      }
      n_written += static_cast<size_t>(n);
    }
    is_in_line = false;
  }

  bool wait_until_writable() {
    while (!is_late()) {
      pollfd poll_fd{fd, POLLOUT, 0};
      if (::poll(&poll_fd, 1, kPollMs) > 0) return true;
    }
    return false;
  }

  bool is_late() const { return stopping && std::chrono::steady_clock::now() >= ends_at.load(); }

  void lose(const std::string& reason) {
    if (!std::exchange(has_told_loss, true)) on_first_loss(name + ": " + reason);
    ++n_lost;
  }

  const std::string name;
  bool is_file = false;  // opened here, by its name
  Readers readers = Readers::kAsTheUserHasIt;
  FileDescriptor own;  // of a file opened here; only used by the thread, like `fd`
  int fd;
  void (*const on_first_loss)(const std::string&);
  std::atomic<uint64_t> n_lost = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  size_t n_waiting_bytes = 0;
  bool has_ended = false;
  std::atomic<bool> stopping = false;
  std::atomic<std::chrono::steady_clock::time_point> ends_at{};

  // Only used by the thread.
  bool is_in_line = false;  // an earlier line was cut
  bool has_told_loss = false;
};

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string& path,
                                                     void (*on_first_loss)(const std::string& reason),
                                                     Readers readers) {
  if (path == "-") return over(STDERR_FILENO, "standard error", on_first_loss);
  RZ_TRY(FileDescriptor fd, open_to_append(path, readers));
  auto state = std::make_shared<State>(path, fd.get(), on_first_loss);
  state->own = std::move(fd);
  state->is_file = true;
  state->readers = readers;
  return std::unique_ptr<LineWriter>(new LineWriter(std::move(state)));
}

std::unique_ptr<LineWriter> LineWriter::over(int fd, const std::string& name,
                                             void (*on_first_loss)(const std::string& reason)) {
  return std::unique_ptr<LineWriter>(new LineWriter(std::make_shared<State>(name, fd, on_first_loss)));
}

LineWriter::LineWriter(std::shared_ptr<State> state) : state_(std::move(state)) {
  std::thread([state = state_] { state->run(); }).detach();
}

LineWriter::~LineWriter() {
  std::unique_lock lock(state_->mutex);
  state_->ends_at = std::chrono::steady_clock::now() + kMostTimeToEnd;
  state_->stopping = true;
  state_->changed.notify_all();
  // A write to another process's terminal or pipe may hang in spite of everything; then the thread is abandoned.
  state_->changed.wait_for(lock, 2 * kMostTimeToEnd, [&] { return state_->has_ended; });
}

void LineWriter::write(std::string line) {
  {
    const std::lock_guard lock(state_->mutex);
    const bool has_room = state_->items.empty() || state_->n_waiting_bytes + line.size() <= kMaxWaitingBytes;
    if (!has_room) {
      ++state_->n_lost;
      return;
    }
    const size_t n_bytes = line.size();
    state_->items.emplace_back(std::move(line));
    state_->n_waiting_bytes += n_bytes;
  }
  state_->changed.notify_all();
}

void LineWriter::reopen() {
  {
    const std::lock_guard lock(state_->mutex);
    const bool is_asked_already = !state_->items.empty() && !state_->items.back();
    if (!state_->is_file || is_asked_already) return;
    state_->items.emplace_back(std::nullopt);
  }
  state_->changed.notify_all();
}

uint64_t LineWriter::n_lost() const {
  return state_->n_lost;
}

}  // namespace realizar::server
