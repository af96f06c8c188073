#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace realizar::cli {
namespace {

// The reader of a pipe has what it wanted (head). A filter then ends without a word, by the signal that shells know.
void end_as_a_filter_does() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

}  // namespace

bool print(std::string_view text) {
  static bool broken = false;
  while (!broken && !text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EPIPE) {
      end_as_a_filter_does();
    } else if (errno != EINTR) {
      broken = true;
      warn(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
  return !broken;
}

bool print_model_text(std::string_view text) {
  return print(stdout_is_terminal() ? printable(text, Lines::kMany) : std::string(text));
}

bool print_line(std::string_view text) {
  return print(std::string(text) + '\n');
}

int fail(const Error& error) {
  warn(error.message);
  return kFailure;
}

void warn(std::string_view message) {
  std::fputs((styled("realizar:", Style::kRed, STDERR_FILENO) + ' ' + printable(message) + '\n').c_str(), stderr);
}

int side_fd(bool prints_json) {
  return stdout_is_terminal() && !prints_json ? STDOUT_FILENO : STDERR_FILENO;
}

int editing_fd(int side) {
  return stdin_is_terminal() && ::isatty(side) == 1 ? side : -1;
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}
bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

size_t stdout_columns() {
  constexpr size_t kUsual = 80;
  struct winsize size {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace realizar::cli
