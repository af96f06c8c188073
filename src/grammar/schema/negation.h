// What "not", "if", "dependentRequired" and "dependentSchemas" say, in keywords that the compiler builds.
//
// "not" has a normal form, which stays in schemas and which number, string and the listed values keep to:
// {"not": {"anyOf": [...]}}, each option of which is {"enum": scalars}, {"type": "number", "multipleOf": m} or
// {"type": "string", "pattern": p}.
#pragma once

#include <string>

#include "grammar/schema/document.h"

namespace realizar::grammar {

// The options of a schema's "not" in normal form; none where it has no "not".
const Json& excluded(const Json& schema);

// Whether an option of the first kind lists a value.
bool excludes_value(const Json& option, const Json& value);

// The documents that a schema does not allow, or fewer of them: no numbers spelled otherwise, of oneOf those that no
// option allows. Negations behind a $ref stay as they are. Errors: Unsupported for what has no such schema, by its
// place; those of check_keywords and SchemaDocument::resolve.
Result<Json> negation_of(const Json& schema, const std::string& path, const SchemaDocument& document);

// The same schema, whose "not" is in normal form and which has none of the other keywords named above: they have become
// parts of "allOf". What cannot be said is left out. Errors: as above.
Result<Json> expanded(const Json& schema, const std::string& path, const SchemaDocument& document, LeftOut& left_out);

}  // namespace realizar::grammar
