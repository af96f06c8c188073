// Merging of two schemas, for allOf and for keywords next to $ref and anyOf.
#pragma once

#include <string>

#include "grammar/schema/keywords.h"

namespace realizar::grammar {

// The schema of documents that satisfy both; false if none do. Subschemas in both become {"allOf": [a, b]}, and so does
// $ref. Both have passed check_keywords. If keywords cannot be combined, the second one's are left out. Errors:
// Unsupported for them.
Result<Json> merge_schemas(const Json& a, const Json& b, const std::string& path, LeftOut& left_out);

// {"allOf": [a, b]}, or one of them if it suffices.
Json both_of(const Json& a, const Json& b);

}  // namespace realizar::grammar
