// JSON Schema's keywords: their values, and which of them are supported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "grammar/schema/left_out.h"
#include "realizar/result.h"

namespace realizar::grammar {

using Json = nlohmann::ordered_json;

// An object or a boolean.
bool is_schema(const Json& value);

// Checks that every keyword that restricts documents is supported, or left out, and has a value of its kind; all others
// are annotations (JSON Schema, section 6.5). Errors: Unsupported, InvalidArgument; the subject is the keyword's path.
Status check_keywords(const Json& schema, const std::string& path, LeftOut& left_out);

// The schema without annotations and unsupported keywords, in terms of draft 2020-12. Supported values of "format"
// stay; "nullable" becomes a type, or an alternative to a combination of schemas without types.
Json assertions_of(const Json& schema);

// The direct subschemas of a schema, definitions included. It may be unchecked.
std::vector<const Json*> subschemas(const Json& schema);

// Appends a member to a path, a JSON pointer in a URI fragment.
std::string path_to(const std::string& path, const std::string& member);

// Whether the value has the JSON type, or is an integer for "integer".
bool is_of_type(const Json& value, const std::string& type);

// A list of the single value or values, e.g. of "type".
Json as_list(const Json& value);

inline constexpr size_t kMaxPrefixItems = 100;

// The value of a keyword that takes a non-negative integer, such as minLength.
std::optional<uint64_t> count_of(const Json& schema, const char* keyword);

size_t n_code_points(const std::string& text);

}  // namespace realizar::grammar
