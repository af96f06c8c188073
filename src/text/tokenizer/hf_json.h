// Reads a tokenizer's side files, and their fields with defaults. Private to the builders.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/plain_json.h"
#include "realizar/result.h"

namespace realizar::text {

using simdjson::dom::element;

// The root of a file, including Python's variants of JSON. It lives as long as the parser.
inline Result<element> parse_side_file(simdjson::dom::parser& parser, std::string_view text, const std::string& name) {
  element document;
  const simdjson::padded_string padded(plain_json(text));
  if (const auto error = parser.parse(padded).get(document)) {
    return format_error(name + ": " + simdjson::error_message(error), name);
  }
  if (!document.is_object()) return format_error(name + ": expected an object", name);
  return document;
}

// The member, unless it is absent or null.
inline std::optional<element> json_member(const element& object, std::string_view key) {
  element value;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

inline bool json_bool(const element& object, std::string_view key, bool otherwise) {
  bool value = otherwise;
  return object[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

inline int64_t json_int(const element& object, std::string_view key, int64_t otherwise) {
  int64_t value = otherwise;
  return object[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

inline std::string json_string(const element& object, std::string_view key, std::string_view otherwise = {}) {
  std::string_view value = otherwise;
  return std::string(object[key].get(value) == simdjson::SUCCESS ? value : otherwise);
}

inline Result<simdjson::dom::array> json_array(const element& object, std::string_view key, const std::string& where) {
  simdjson::dom::array value;
  if (object[key].get(value) == simdjson::SUCCESS) return value;
  return format_error(where + "." + std::string(key) + ": expected an array", where);
}

// {"String": ...} or {"Regex": ...} under "pattern".
struct JsonPattern {
  bool is_regex = false;
  std::string text;
};
inline Result<JsonPattern> json_pattern(const element& object, const std::string& where) {
  std::string_view text;
  if (object["pattern"]["Regex"].get(text) == simdjson::SUCCESS) return JsonPattern{true, std::string(text)};
  const bool found =
      object["pattern"]["String"].get(text) == simdjson::SUCCESS || object["pattern"].get(text) == simdjson::SUCCESS;
  if (!found) return format_error(where + ".pattern: expected {\"String\": ...} or {\"Regex\": ...}", where);
  return JsonPattern{false, std::string(text)};
}

// Maximum nesting of sections (Sequence).
inline constexpr int kMaxSectionDepth = 16;

}  // namespace realizar::text
