// Two schemas as one: what allOf, and keywords beside $ref and anyOf, mean.
#pragma once

#include <string>

#include "grammar/schema_keywords.h"

namespace realizar::grammar {

// Documents of the result are the documents of both; false where none are. Subschemas that both have become
// {"allOf": [a, b]}, and so does $ref. Both have passed check_keywords. Of keywords that cannot be combined, the first
// schema's are kept where `relaxed`. Errors: Unsupported for them.
Result<Json> merge_schemas(const Json& a, const Json& b, const std::string& path, bool relaxed);

// {"allOf": [a, b]}, or one of them where it says it all.
Json both_of(const Json& a, const Json& b);

}  // namespace realizar::grammar
