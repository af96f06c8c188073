// Serializes JSON to one line of text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace realizar::text {

// Bytes that are not UTF-8 become U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace realizar::text
