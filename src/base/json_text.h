// Serializes JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace realizar {

// One line, or with an `indent` one line a member. Bytes that are not UTF-8 become U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace realizar
