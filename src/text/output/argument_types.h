// Arguments that arrive as bare text (XML-like formats), typed by the tool's JSON Schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace realizar::text {

// Whether the argument can be nothing but a string, so that its text needs no look at its end to be written.
bool is_string_only(const nlohmann::ordered_json& parameters, std::string_view key);

// Whether the schema says that the argument may be a string, among others.
bool may_be_string(const nlohmann::ordered_json& parameters, std::string_view key);

// The JSON of an argument: `text` itself where it is JSON of a type that the schema allows (any, if the schema does not
// say; Python's True, False and None count as JSON's), else a string. Where the schema allows no string, numbers may
// have zeros before them, and booleans and null any common spelling. $ref is not followed.
std::string typed_argument(const nlohmann::ordered_json& parameters, std::string_view key, std::string_view text);

}  // namespace realizar::text
