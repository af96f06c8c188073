// Converts arguments that arrive as plain text (XML-like formats), using the tool's JSON Schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace realizar::text {

// Whether the argument can only be a string, so that its text can be output before its end is known.
bool is_string_only(const nlohmann::ordered_json& parameters, std::string_view key);

// Whether the schema allows the argument to be a string, among other types.
bool may_be_string(const nlohmann::ordered_json& parameters, std::string_view key);

// The JSON of an argument: `text` itself if it is JSON of a type that the schema allows (any, if the schema does not
// restrict it; Python's True, False and None count as JSON's), else a string. If the schema does not allow a string,
// numbers may have leading zeros, and booleans and null any common spelling. $ref is not followed.
std::string typed_argument(const nlohmann::ordered_json& parameters, std::string_view key, std::string_view text);

}  // namespace realizar::text
