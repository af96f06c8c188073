// Which keywords of JSON Schema there are, what values they take and what they are to this room.
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

// Every keyword that restricts documents is built, or left out, and has a value of its kind; all others are annotations
// (JSON Schema, section 6.5). Errors: Unsupported, InvalidArgument; the subject is the keyword's path.
Status check_keywords(const Json& schema, const std::string& path, LeftOut& left_out);

// The schema without its annotations and without what is not built, in the words of draft 2020-12. "format" stays where
// it is one that is built; "nullable" becomes a type, or an alternative to a combination of schemas that names none.
Json assertions_of(const Json& schema);

// The schemas that stand directly in one, definitions included. It may not have been checked.
std::vector<const Json*> subschemas(const Json& schema);

// A member of a path, a JSON pointer in a URI's fragment.
std::string path_to(const std::string& path, const std::string& member);

// Has the JSON type, or "integer".
bool is_of_type(const Json& value, const std::string& type);

// "type" and others may have one value or a list of them.
Json as_list(const Json& value);

inline constexpr size_t kMaxPrefixItems = 100;

// The value of a keyword that takes a whole number, such as minLength.
std::optional<uint64_t> count_of(const Json& schema, const char* keyword);

size_t n_code_points(const std::string& text);

}  // namespace realizar::grammar
