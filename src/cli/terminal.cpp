#include "cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>

#include "cli/output.h"

namespace realizar::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

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

}  // namespace realizar::cli
