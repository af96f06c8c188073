// The unescaped strings that a schema allows, as a regular language, for any keywords.
#pragma once

#include <string>
#include <vector>

#include "grammar/pattern.h"
#include "grammar/regular.h"
#include "grammar/schema/context.h"

namespace realizar::grammar {

// The range of minLength and maxLength.
LengthRange lengths_of(const Json& schema);

class StringLanguage {
 public:
  explicit StringLanguage(SchemaContext& context) : context_(context), book_(context.book()) {}

  // `negated`: returns the complement.
  Result<TermId> of(Terms& terms, const Json& schema, const std::string& path, bool negated = false, int depth = 0);

 private:
  Status add_combined(Terms& terms, const Json& schema, const std::string& path, bool negated, int depth,
                      std::vector<TermId>& parts);

  SchemaContext& context_;
  RuleBook& book_;
};

}  // namespace realizar::grammar
