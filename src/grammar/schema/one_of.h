// Makes the alternatives of oneOf exclude each other. If another alternative only requires more names, one of these
// must be missing; if another restricts only scalars, it is negated. Others are unchanged.
#pragma once

#include <string>
#include <vector>

#include "grammar/schema/context.h"

namespace realizar::grammar {

// The alternatives, next to `base`, as schemas that exclude each other if possible. Remaining overlaps are noted.
Result<std::vector<Json>> kept_apart(SchemaContext& context, const Json& base, const Json& alternatives,
                                     const std::string& path);

}  // namespace realizar::grammar
