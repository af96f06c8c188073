#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/command.h"

namespace realizar::cli {
namespace {

// A message from outside may hold line breaks; an error is one line.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace

bool print(std::string_view text) {
  static bool broken = false;
  while (!broken && !text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      broken = true;
      warn(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
  return !broken;
}

bool print_line(std::string_view text) {
  return print(std::string(text) + '\n');
}

int fail(const Error& error) {
  warn(std::string(to_string(error.code)) + ": " + error.message);
  return kFailure;
}

void warn(std::string_view message) {
  std::fprintf(stderr, "realizar: %s\n", one_line(message).c_str());
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

}  // namespace realizar::cli
