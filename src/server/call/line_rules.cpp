#include "server/call/line_rules.h"

#include <utility>

namespace realizar::server {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

std::string LineWatch::take(std::string text) {
  has_new_line_ = has_new_line_ || text.find('\n') != std::string::npos;
  if (is_over_) return {};
  if (rules_.n_indent == 0) return text;
  std::string certain;
  for (const char c : text) {
    const bool waits = !indentation_.empty();
    if (waits && !is_blank(c)) {
      is_over_ = indentation_.size() <= rules_.n_indent;
      if (is_over_) return certain;
      certain += std::exchange(indentation_, {});
    }
    std::string& place = c == '\n' || (waits && is_blank(c)) ? indentation_ : certain;
    place += c;
  }
  return certain;
}

std::string LineWatch::finish() {
  return is_over_ ? std::string() : std::exchange(indentation_, {});
}

}  // namespace realizar::server
