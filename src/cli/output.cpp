#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/printable.h"
#include "cli/command.h"

namespace realizar::cli {
namespace {

std::atomic<bool> has_no_terminal = false;

std::function<void(std::string)>& warning_writer() {
  static std::function<void(std::string)> writer;
  return writer;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool hold_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // open() uses the lowest free number, which is this one.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
  }
  return true;
}

bool print(std::string_view text) {
  static bool broken = false;
  while (!broken && !text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EPIPE) {
      // The reader of a pipe has stopped reading (head). Like any filter, the program then ends silently, by the signal
      // that shells know.
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    } else if (errno != EINTR) {
      broken = true;
      warn(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
  return !broken;
}

bool print_model_text(std::string_view text) {
  return print(stdout_is_terminal() ? printable_prose(text) : std::string(text));
}

bool print_whole_line(std::string_view line) {
  const bool appends = (::fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) != 0;
  const off_t begin = ::lseek(STDOUT_FILENO, 0, appends ? SEEK_END : SEEK_CUR);
  if (print_model_text(line)) return true;
  const off_t end = ::lseek(STDOUT_FILENO, 0, SEEK_CUR);
  struct stat info {};
  const bool is_file = begin >= 0 && ::fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode);
  // Unless another process has written there in the meantime.
  const bool is_last = info.st_size == end && end - begin < static_cast<off_t>(line.size());
  if (is_file && is_last && ::ftruncate(STDOUT_FILENO, begin) == 0) {
    static_cast<void>(::lseek(STDOUT_FILENO, begin, SEEK_SET));
  }
  return false;
}

Status cut_output(const std::string& file, uint64_t n_bytes) {
  struct stat output {};
  const auto named = version_at(file);
  const bool is_output =
      named && ::fstat(STDOUT_FILENO, &output) == 0 && named->device == output.st_dev && named->inode == output.st_ino;
  if (!is_output || ::ftruncate(STDOUT_FILENO, static_cast<off_t>(n_bytes)) == 0) return {};
  return invalid_argument("cannot cut the half line at the end of " + file + ": " + std::strerror(errno), file);
}

bool print_line(std::string_view text) {
  return print(std::string(text) + '\n');
}

int fail(const Error& error) {
  warn(error.message);
  return kFailure;
}

int fail_or_interrupted(const Error& error) {
  fail(error);
  return error.code == ErrorCode::kCancelled ? kInterrupted : kFailure;
}

void warn(std::string_view message) {
  std::string line = styled("realizar:", Style::kRed, STDERR_FILENO) + ' ' + printable(message);
  if (const auto& write = warning_writer()) return write(std::move(line));
  std::fputs((line + '\n').c_str(), stderr);
}

void warn_of_differences(std::span<const std::string> notes, std::span<const std::string> left_out) {
  for (const std::string& note : notes) warn(note);
  if (left_out.empty()) return;
  warn(fmt::format("{} tensors are not part of the model and are ignored, the first of them {}", left_out.size(),
                   printable(left_out.front())));
}

WarningsGoTo::WarningsGoTo(std::function<void(std::string)> write) {
  warning_writer() = std::move(write);
}

WarningsGoTo::~WarningsGoTo() {
  warning_writer() = nullptr;
}

void treat_terminals_as_pipes() {
  has_no_terminal = true;
}

bool is_terminal(int fd) {
  return !has_no_terminal && ::isatty(fd) == 1;
}

int side_fd(bool prints_json) {
  return stdout_is_terminal() && !prints_json ? STDOUT_FILENO : STDERR_FILENO;
}

int editing_fd(int side) {
  return stdin_is_terminal() && is_terminal(side) ? side : -1;
}

bool stdin_is_terminal() {
  return is_terminal(STDIN_FILENO);
}
bool stdout_is_terminal() {
  return is_terminal(STDOUT_FILENO);
}
bool stderr_is_terminal() {
  return is_terminal(STDERR_FILENO);
}

bool obeys_escapes(int fd) {
  const std::string_view kind = environment("TERM");
  return is_terminal(fd) && !kind.empty() && kind != "dumb";
}

bool shows_styles(int fd) {
  return obeys_escapes(fd) && environment("NO_COLOR").empty();
}

uint32_t terminal_columns(int fd) {
  struct winsize size {};
  constexpr uint32_t kUsualColumns = 80;
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

void use_utf8_locale() {
  const char* locale = std::setlocale(LC_CTYPE, "");
  const bool is_ascii = locale == nullptr || std::string_view(::nl_langinfo(CODESET)) == "ANSI_X3.4-1968";
  if (is_ascii) std::setlocale(LC_CTYPE, "C.UTF-8");
}

std::string styled(std::string_view text, Style style, int fd) {
  if (style == Style::kPlain || !shows_styles(fd)) return std::string(text);
  const char* begin = style == Style::kBold ? "\033[1m" : style == Style::kDim ? "\033[2m" : "\033[31m";
  return begin + std::string(text) + "\033[0m";
}

Spinner::Spinner(std::string what, bool shown) : what_(std::move(what)) {
  if (!shown) return;
  try {
    thread_ = std::thread([this] { draw(); });
  } catch (const std::system_error&) {
    // Without a free thread, the answer appears without a spinner.
  }
}

void Spinner::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Spinner::draw() {
  constexpr std::chrono::milliseconds kUnnoticed{400}, kFrame{100};
  constexpr std::array kFrames = {"|", "/", "-", "\\"};
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kUnnoticed, [this] { return ends_; })) return;
  for (size_t i = 0; !ends_; ++i) {
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "\r%s %s, %.0f s ", kFrames[i % kFrames.size()], what_.c_str(), s);
    changed_.wait_for(lock, kFrame, [this] { return ends_; });
  }
  std::fputs("\r\033[K", stderr);
}

}  // namespace realizar::cli
