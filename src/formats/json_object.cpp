#include "formats/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace realizar {
namespace {

using nlohmann::json;

constexpr int kMaxJsonDepth = 32;

}  // namespace

Result<json> parse_json_object(std::string_view text, std::string_view file) {
  bool too_deep = false;
  // Returning false drops the value, so that nothing deeper is ever built.
  const auto keep = [&](int depth, json::parse_event_t, json&) {
    too_deep |= depth > kMaxJsonDepth;
    return depth <= kMaxJsonDepth;
  };
  json root = json::parse(text, keep, /*allow_exceptions=*/false);
  if (too_deep) {
    return format_error(fmt::format("{}: expected JSON of at most {} levels", file, kMaxJsonDepth), std::string(file));
  }
  if (root.is_discarded()) return format_error(fmt::format("{}: not valid JSON", file), std::string(file));
  if (!root.is_object()) return format_error(fmt::format("{}: expected a JSON object", file), std::string(file));
  return root;
}

std::string with_quoted_numbers(std::string_view text) {
  constexpr std::string_view kWords[] = {"NaN", "Infinity", "-Infinity"};
  std::string result;
  bool is_in_string = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto* word = std::ranges::find_if(kWords, [&](std::string_view one) { return rest.starts_with(one); });
    if (!is_in_string && word != std::end(kWords)) {
      result += fmt::format("\"{}\"", *word);
      at += word->size();
      continue;
    }
    const size_t n_chars = is_in_string && text[at] == '\\' ? 2 : 1;
    if (text[at] == '"') is_in_string = !is_in_string;
    result += text.substr(at, n_chars);
    at += n_chars;
  }
  return result;
}

}  // namespace realizar
