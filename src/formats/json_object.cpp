#include "formats/json_object.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/plain_json.h"

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
  json root = json::parse(plain_json(text), keep, /*allow_exceptions=*/false);
  if (too_deep) {
    return format_error(fmt::format("{}: expected JSON of at most {} levels", file, kMaxJsonDepth), std::string(file));
  }
  if (root.is_discarded()) return format_error(fmt::format("{}: not valid JSON", file), std::string(file));
  if (!root.is_object()) return format_error(fmt::format("{}: expected a JSON object", file), std::string(file));
  return root;
}

}  // namespace realizar
