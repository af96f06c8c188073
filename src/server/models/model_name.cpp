// Finds the model's name in a body before the body is parsed.
#include <simdjson.h>

#include <sstream>

#include "server/http/json.h"

namespace realizar::server {

// Goes over the outermost object's members, and skips their values without parsing. An error in the text ends this.
Result<std::string> peek_model_name(std::string& text) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  // The full parser accepts a byte order mark, so this one must too.
  const size_t begin = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object members;
  const bool is_object =
      parser.iterate(text.data() + begin, text.size() - begin, text.capacity() - begin).get(document) ==
          simdjson::SUCCESS &&
      document.get_object().get(members) == simdjson::SUCCESS;
  using simdjson::ondemand::json_type;
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
  std::ostringstream told;
  told << "model: expected a string, actual " << type;
  return invalid_argument(told.str(), "model");
}

}  // namespace realizar::server
