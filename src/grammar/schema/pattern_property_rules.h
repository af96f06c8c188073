// patternProperties: which of them a key's value keeps to.
#pragma once

#include <string>
#include <vector>

#include "grammar/schema/context.h"
#include "grammar/schema/key_rules.h"

namespace realizar::grammar {

class ValueRules;

class PatternPropertyRules {
 public:
  PatternPropertyRules(SchemaContext& context, ValueRules& values, KeyRules& keys)
      : context_(context), book_(context.book()), values_(values), keys_(keys) {}

  // The schema in which every name has what holds for it in "properties", that of the patterns among it. The patterns
  // that are left hold for other keys.
  Result<Json> with_named(const Json& schema, const std::string& path);
  // A member with another name, whose value keeps to what holds for its key.
  Result<ValueExpr> members(const Json& schema, const std::vector<std::string>& names, const std::string& path);
  // Without the patterns nobody knows which keys "additionalProperties" is about, except where it allows no others.
  static Json without_patterns(Json schema);

 private:
  SchemaContext& context_;
  RuleBook& book_;
  ValueRules& values_;
  KeyRules& keys_;
};

}  // namespace realizar::grammar
