// Removal of alternatives that no document can satisfy, before they are compiled: the branches of many "if"s exclude
// each other, and only a few of their combinations remain.
#pragma once

#include "grammar/schema/keywords.h"

namespace realizar::grammar {

// Whether no document satisfies both schemas, judging by their types, listed values, exclusions and required
// properties, without following $ref or alternatives.
bool contradict(const Json& a, const Json& b);

// Removes alternatives of "anyOf" and "oneOf" that contradict the rest of the schema.
void drop_contradictions(Json& schema);

}  // namespace realizar::grammar
