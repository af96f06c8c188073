// Alternatives that no document can satisfy, found before they are compiled: the branches of many "if"s exclude each
// other, and only a few of their combinations are left.
#pragma once

#include "grammar/schema/keywords.h"

namespace realizar::grammar {

// Whether no document satisfies both schemas, as far as their types, listed values, exclusions and the properties
// that they require tell. What stands behind a $ref or in alternatives is not looked at.
bool contradict(const Json& a, const Json& b);

// Takes alternatives out of "anyOf" and "oneOf" that contradict the rest of the schema.
void drop_contradictions(Json& schema);

}  // namespace realizar::grammar
