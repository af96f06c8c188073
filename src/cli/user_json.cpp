#include "cli/user_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"

namespace realizar::cli {
namespace {

// nlohmann's message without its name and position: "[...] parse error at line 1, column 2: REASON".
std::string_view reason_of(std::string_view text) {
  const size_t column = text.find("column ");
  const size_t colon = text.find(": ", column == std::string_view::npos ? 0 : column);
  return colon == std::string_view::npos ? text : text.substr(colon + 2);
}

}  // namespace

std::string source_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<nlohmann::ordered_json> parse_json_text(const std::string& text, const std::string& where) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    // The error's position is the number of bytes read, including the wrong one.
    const std::string_view before = std::string_view(text).substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto n_lines = std::ranges::count(before, '\n') + 1;
    const size_t line_begin = before.rfind('\n') + 1;
    return format_error(fmt::format("{}, line {}, column {}: this is not JSON: {}", where, n_lines,
                                    before.size() - line_begin + 1, shown(reason_of(error.what()), 200)),
                        where);
  }
}

}  // namespace realizar::cli
