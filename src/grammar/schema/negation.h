// Expansion of "not", "if", "dependentRequired" and "dependentSchemas" to keywords that the compiler supports.
//
// "not" has a normal form, which stays in schemas and which numbers, strings and listed values take into account:
// {"not": {"anyOf": [...]}}, each option of which is {"enum": scalars}, {"type": "number", "multipleOf": m} or
// {"type": "string", "pattern": p}.
#pragma once

#include <string>

#include "grammar/schema/document.h"

namespace realizar::grammar {

// The options of a schema's "not" in normal form; empty without a "not".
const Json& excluded(const Json& schema);

// Whether an option of the first kind lists a value.
bool excludes_value(const Json& option, const Json& value);

// The documents that a schema does not allow, or a subset: without other spellings of numbers, and for oneOf only those
// that no option allows. Negations behind a $ref are unchanged. Errors: Unsupported without such a schema, with the
// path; those of check_keywords and SchemaDocument::resolve.
Result<Json> negation_of(const Json& schema, const std::string& path, const SchemaDocument& document);

// An equivalent schema whose "not" is in normal form, without the other keywords above, which become parts of "allOf".
// Inexpressible parts are left out. Errors: as negation_of.
Result<Json> expanded(const Json& schema, const std::string& path, const SchemaDocument& document, LeftOut& left_out);

}  // namespace realizar::grammar
