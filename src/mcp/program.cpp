#include "mcp/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "base/caught.h"
#include "base/try.h"
#include "mcp/transport.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxOutgoingBytes = 2 * kMaxMessageBytes;
constexpr size_t kMaxErrorLineBytes = 1000;
constexpr auto kGoodbyeTime = std::chrono::milliseconds(1000);  // from the end of its input to SIGTERM
constexpr auto kTermTime = std::chrono::milliseconds(500);      // from SIGTERM to SIGKILL
constexpr auto kReapInterval = std::chrono::milliseconds(5);
constexpr int kMaxLastReads = 64;

Error failed_to_start(const std::string& path, int error_number) {
  const std::string why = fmt::format("{} cannot be started: {}", path, std::generic_category().message(error_number));
  return error_number == ENOENT ? not_found(why, "mcp") : invalid_argument(why, "mcp");
}

// The attributes and actions of posix_spawn, which must be destroyed.
class SpawnRules {
 public:
  SpawnRules() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnRules() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnRules(const SpawnRules&) = delete;
  SpawnRules& operator=(const SpawnRules&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// A separate process group, so that Ctrl-C in a terminal does not reach it, the default handling of signals, and none
// of this process's files.
int set_rules(SpawnRules& rules, const std::array<int, 3>& ends, const std::string& folder) {
  for (int fd = 0; fd < 3; ++fd) {
    if (const int failed = ::posix_spawn_file_actions_adddup2(&rules.actions, ends[fd], fd)) return failed;
  }
  if (const int failed = ::posix_spawn_file_actions_addclosefrom_np(&rules.actions, 3)) return failed;
  const int moved = folder.empty() ? 0 : ::posix_spawn_file_actions_addchdir_np(&rules.actions, folder.c_str());
  if (moved != 0) return moved;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&rules.attributes, &none);
  ::posix_spawnattr_setsigdefault(&rules.attributes, &all);
  ::posix_spawnattr_setpgroup(&rules.attributes, 0);
  return ::posix_spawnattr_setflags(&rules.attributes,
                                    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the system's error number, or 0.
int spawn(const ProgramSource& source, const std::array<int, 3>& ends, pid_t& pid) {
  SpawnRules rules;
  if (const int failed = set_rules(rules, ends, source.folder)) return failed;
  std::vector<std::string> args{source.path}, environment;
  args.insert(args.end(), source.args.begin(), source.args.end());
  for (const auto& [name, value] : source.environment) environment.push_back(fmt::format("{}={}", name, value));
  return ::posix_spawn(&pid, source.path.c_str(), &rules.actions, &rules.attributes, pointers_to(args).data(),
                       pointers_to(environment).data());
}

bool has_exited(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

bool wait_for_exit(pid_t pid, std::chrono::milliseconds time) {
  const auto deadline = Clock::now() + time;
  while (!has_exited(pid)) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kReapInterval);
  }
  return true;
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) return fmt::format("it was ended by signal {}", WTERMSIG(status));
  return fmt::format("it has ended with exit status {}", WEXITSTATUS(status));
}

enum class Reading { kSome, kNothing, kTooLong, kEnd };

// Reads the available bytes up to a limit, so that other events get their turn.
Reading read_some(int fd, LineSplitter& lines, const LineSplitter::OnLine& on_line) {
  std::array<char, 16384> bytes;
  const ssize_t n_read = ::read(fd, bytes.data(), bytes.size());
  if (n_read < 0 && (errno == EAGAIN || errno == EINTR)) return Reading::kNothing;
  if (n_read <= 0) return Reading::kEnd;
  return lines.push({bytes.data(), static_cast<size_t>(n_read)}, on_line) ? Reading::kSome : Reading::kTooLong;
}

// Reads the rest of an ended program's output; a child of it may continue to write.
void read_rest(int fd, LineSplitter& lines, const LineSplitter::OnLine& on_line) {
  for (int i = 0; i < kMaxLastReads && read_some(fd, lines, on_line) == Reading::kSome; ++i) {
  }
  lines.finish(on_line);
}

bool make_pipe(FileDescriptor& ours, FileDescriptor& theirs) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  ours = FileDescriptor(ends[0]);
  theirs = FileDescriptor(ends[1]);
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

// Writing to a socket without a reader can be reported as an error; a pipe also raises a signal.
bool make_socket(FileDescriptor& ours, FileDescriptor& theirs) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  ours = FileDescriptor(ends[0]);
  theirs = FileDescriptor(ends[1]);
  return true;
}

}  // namespace

bool LineSplitter::push(std::string_view bytes, const OnLine& on_line) {
  bool fits = true;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (!is_skipping_ && line_.size() + piece.size() > max_bytes_) {
      fits = false;
      is_skipping_ = true;
      line_ += piece.substr(0, max_bytes_ - line_.size());
      on_line(line_);
      line_.clear();
    }
    if (!is_skipping_) line_ += piece;
    if (end == std::string_view::npos) continue;
    if (!is_skipping_) on_line(line_);
    line_.clear();
    is_skipping_ = false;
  }
  return fits;
}

void LineSplitter::finish(const OnLine& on_line) {
  if (!line_.empty()) on_line(line_);
  line_.clear();
}

Result<std::unique_ptr<Program>> Program::start(const ProgramSource& source, ProgramEvents events) {
  Pipes pipes;
  FileDescriptor input, output, errors;
  const bool has_pipes =
      make_socket(pipes.input, input) && make_pipe(pipes.output, output) && make_pipe(pipes.errors, errors);
  if (has_pipes) pipes.wake_up = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!has_pipes || pipes.wake_up.get() < 0) return failed_to_start(source.path, errno);
  pid_t pid = -1;
  if (const int failed = spawn(source, {input.get(), output.get(), errors.get()}, pid)) {
    return failed_to_start(source.path, failed);
  }
  return std::unique_ptr<Program>(new Program(pid, std::move(pipes), std::move(events)));
}

Program::Program(pid_t pid, Pipes pipes, ProgramEvents events)
    : pid_(pid),
      pipes_(std::move(pipes)),
      events_(std::move(events)),
      pid_fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
  const Status started = caught([this] { thread_ = std::thread([this] { run(); }); });
  if (!started.ok()) {
    reap();
    events_.on_end(started.error().message);
  }
}

Program::~Program() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void Program::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake();
}

Status Program::write_line(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (outgoing_.size() + line.size() >= kMaxOutgoingBytes) {
      return Error{ErrorCode::kResourceExhausted, "it does not read what it is sent", "answer"};
    }
    outgoing_ += line;
    outgoing_ += '\n';
  }
  wake();
  return {};
}

void Program::wake() {
  const uint64_t one = 1;
  static_cast<void>(::write(pipes_.wake_up.get(), &one, sizeof one) == sizeof one);
}

void Program::run() {
  std::string how;
  const Status exchanged = caught([&] { how = exchange(); });
  if (!exchanged.ok()) how = exchanged.error().message;
  const std::string ending = reap();
  static_cast<void>(caught([&] { events_.on_end(how.empty() ? ending : how); }));
}

// Runs until the program ends or must be ended. Returns why it must be, or an empty string.
std::string Program::exchange() {
  LineSplitter lines(kMaxMessageBytes), error_lines(kMaxErrorLineBytes);
  bool has_errors = true;
  while (true) {
    std::array<pollfd, 5> polled{{{pipes_.output.get(), POLLIN, 0},
                                  {has_errors ? pipes_.errors.get() : -1, POLLIN, 0},
                                  {pipes_.input.get(), POLLOUT, 0},
                                  {pipes_.wake_up.get(), POLLIN, 0},
                                  {pid_fd_.get(), POLLIN, 0}}};
    const auto& [output, errors, input, wake_up, end] = polled;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return "it was ended";
      if (outgoing_.empty()) polled[2].fd = -1;
    }
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (wake_up.revents != 0) clear_wake_ups();
    if (errors.revents != 0) {
      has_errors = read_some(pipes_.errors.get(), error_lines, events_.on_error_line) != Reading::kEnd;
    }
    if (input.revents != 0) write_some();
    if (output.revents == 0 && end.revents == 0) continue;
    const Reading reading = read_some(pipes_.output.get(), lines, events_.on_line);
    if (reading == Reading::kTooLong) return fmt::format("it sends a line of more than {} bytes", kMaxMessageBytes);
    if (reading != Reading::kEnd && end.revents == 0) continue;
    read_rest(pipes_.output.get(), lines, events_.on_line);
    read_rest(pipes_.errors.get(), error_lines, events_.on_error_line);
    return wait_for_exit(pid_, kGoodbyeTime) ? "" : "it has closed its output";
  }
}

void Program::clear_wake_ups() {
  uint64_t n_wake_ups = 0;
  static_cast<void>(::read(pipes_.wake_up.get(), &n_wake_ups, sizeof n_wake_ups) > 0);
}

// A program that stops reading is ended; that is detected elsewhere.
void Program::write_some() {
  const std::lock_guard lock(mutex_);
  const ssize_t n_sent = ::send(pipes_.input.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n_sent < 0 && errno != EAGAIN && errno != EINTR) outgoing_.clear();
  if (n_sent > 0) outgoing_.erase(0, static_cast<size_t>(n_sent));
}

// Ends the whole group; its id cannot be reused until the program is waited for.
std::string Program::reap() {
  ::shutdown(pipes_.input.get(), SHUT_RDWR);
  if (!wait_for_exit(pid_, kGoodbyeTime)) {
    ::kill(-pid_, SIGTERM);
    wait_for_exit(pid_, kTermTime);
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return describe(status);
}

}  // namespace realizar::mcp
