// A look at a body before it is parsed: which model it is for.
#include <fmt/format.h>
#include <simdjson.h>

#include "server/http/json.h"

namespace realizar::server {
namespace {

using simdjson::ondemand::json_type;

const char* name_of(json_type type) {
  switch (type) {
    case json_type::array:
      return "array";
    case json_type::object:
      return "object";
    case json_type::number:
      return "number";
    case json_type::string:
      return "string";
    case json_type::boolean:
      return "boolean";
    case json_type::null:
      return "null";
  }
  return "";
}

}  // namespace

// Walks over the outermost object's members; what these hold is skipped, not parsed. An error of the text ends the
// walk.
Result<std::string> peek_model_name(std::string& text) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  // The parser of all takes a mark of the byte order, and so must this one.
  const size_t begin = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object members;
  const bool is_object =
      parser.iterate(text.data() + begin, text.size() - begin, text.capacity() - begin).get(document) ==
          simdjson::SUCCESS &&
      document.get_object().get(members) == simdjson::SUCCESS;
  std::string name;
  json_type type = json_type::null;
  if (!is_object) return name;
  for (auto member : members) {
    std::string_view key, value;
    if (member.unescaped_key().get(key) != simdjson::SUCCESS) break;
    if (key != "model") continue;
    if (member.value().type().get(type) != simdjson::SUCCESS) break;
    name.clear();
    if (type != json_type::string) continue;
    if (member.value().get_string().get(value) != simdjson::SUCCESS) break;
    name = value;
  }
  if (type == json_type::string || type == json_type::null) return name;
  return invalid_argument(fmt::format("model: expected a string, actual {}", name_of(type)), "model");
}

}  // namespace realizar::server
