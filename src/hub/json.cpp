#include "hub/json.h"

#include <fmt/format.h>

#include "base/try.h"

namespace realizar::hub {
namespace {

constexpr int kMaxDepth = 64;

// The parser's value is destroyed recursively, so nested text must be bounded.
bool is_deeper_than(std::string_view text, int max_depth) {
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string) {
      if (c == '\\') ++i;
      if (c == '"') is_string = false;
      continue;
    }
    if (c == '"') is_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > max_depth) return true;
  }
  return false;
}

Result<Json> parse_hub_json(std::string_view text, const std::string& where) {
  if (is_deeper_than(text, kMaxDepth)) return format_error(where + ": JSON that is nested too deeply", where);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return format_error(where + ": expected JSON", where);
  return json;
}

Result<Json> hub_member(const Json& object, const char* name, const std::string& where) {
  if (object.is_object()) {
    if (const auto found = object.find(name); found != object.end()) return *found;
  }
  return format_error(fmt::format("{}: the member '{}' is missing", where, name), where);
}

}  // namespace

Result<Json> parse_json_object(std::string_view text, const std::string& where) {
  RZ_TRY(Json json, parse_hub_json(text, where));
  if (!json.is_object()) return format_error(where + ": expected a JSON object", where);
  return json;
}

Result<Json> parse_json_list(std::string_view text, const std::string& where) {
  RZ_TRY(Json json, parse_hub_json(text, where));
  if (!json.is_array()) return format_error(where + ": expected a JSON list", where);
  return json;
}

Result<std::string> text_member(const Json& object, const char* name, const std::string& where) {
  RZ_TRY(const Json member, hub_member(object, name, where));
  if (!member.is_string()) return format_error(fmt::format("{}: '{}': expected a text", where, name), where);
  return member.get<std::string>();
}

Result<uint64_t> size_member(const Json& object, const char* name, const std::string& where) {
  constexpr uint64_t kMax = uint64_t{1} << 62;
  RZ_TRY(const Json member, hub_member(object, name, where));
  if (!member.is_number_unsigned() || member.get<uint64_t>() > kMax) {
    return format_error(fmt::format("{}: '{}': expected a number from 0 to 2^62", where, name), where);
  }
  return member.get<uint64_t>();
}

Result<Json> list_member(const Json& object, const char* name, const std::string& where) {
  RZ_TRY(Json member, hub_member(object, name, where));
  if (!member.is_array()) return format_error(fmt::format("{}: '{}': expected a list", where, name), where);
  return member;
}

}  // namespace realizar::hub
