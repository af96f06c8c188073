// Two schemas as one: what allOf means, and keywords next to $ref and anyOf.
#pragma once

#include <string>

#include "grammar/schema/keywords.h"

namespace realizar::grammar {

// Documents of the result are the documents of both; false where none are. Subschemas that both have become
// {"allOf": [a, b]}, and so does $ref. Both have passed check_keywords. Where keywords cannot be combined, those of the
// second are left out. Errors: Unsupported for them.
Result<Json> merge_schemas(const Json& a, const Json& b, const std::string& path, LeftOut& left_out);

// {"allOf": [a, b]}, or one of them where it says it all.
Json both_of(const Json& a, const Json& b);

}  // namespace realizar::grammar
