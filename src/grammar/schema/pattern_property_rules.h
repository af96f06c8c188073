// patternProperties: selection of the patterns for a key.
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

  // The schema in which every property in "properties" includes the schemas of matching patterns. The remaining
  // patterns apply to other keys.
  Result<Json> with_named(const Json& schema, const std::string& path);
  // A member with another name, whose value satisfies the schemas for its key.
  Result<ValueExpr> members(const Json& schema, const std::vector<std::string>& names, const std::string& path);
  // Without the patterns the scope of "additionalProperties" is unknown, except if it is false.
  static Json without_patterns(Json schema);

 private:
  SchemaContext& context_;
  RuleBook& book_;
  ValueRules& values_;
  KeyRules& keys_;
};

}  // namespace realizar::grammar
