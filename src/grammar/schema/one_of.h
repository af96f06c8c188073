// oneOf: what keeps its alternatives apart. Where another alternative only requires more names, one of these is not to
// be there; where another is about single values alone, it is excluded. Others stay as they are.
#pragma once

#include <string>
#include <vector>

#include "grammar/schema/context.h"

namespace realizar::grammar {

// The alternatives, next to `base`, as schemas that exclude each other as far as they can. What still overlaps is
// noted.
Result<std::vector<Json>> kept_apart(SchemaContext& context, const Json& base, const Json& alternatives,
                                     const std::string& path);

}  // namespace realizar::grammar
