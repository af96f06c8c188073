// Objects.
#pragma once

#include <string>
#include <vector>

#include "grammar/schema/context.h"
#include "grammar/schema/key_rules.h"
#include "grammar/schema/pattern_property_rules.h"

namespace realizar::grammar {

class ObjectRules {
 public:
  // All must outlive it; `values` creates the rules of members.
  ObjectRules(SchemaContext& context, ValueRules& values, StringLanguage& languages, FiniteValues& finite_values)
      : context_(context),
        book_(context.book()),
        values_(values),
        keys_(context, languages, finite_values),
        patterns_(context, values, keys_) {}

  Result<ValueExpr> object(const Json& schema, const std::string& path);

 private:
  struct Member {
    ExprId expr = kNoExpr;
    bool required = false;
  };
  Result<bool> add_members(const Json& schema, const std::string& path, std::vector<Member>& members);
  Result<ValueExpr> other_members(const Json& schema, const std::vector<std::string>& names, const std::string& path);
  ExprId object_rule(const std::vector<Member>& members, const ValueExpr& more, const std::string& path);
  ExprId map_rule(const ValueExpr& member, const Counts& counts, const std::string& path);
  ExprId some_members(ExprId member, uint64_t max);
  Result<ValueExpr> counted_object(const std::vector<Member>& members, const ValueExpr& more, const Counts& counts,
                                   const std::string& path);

  SchemaContext& context_;
  RuleBook& book_;
  ValueRules& values_;
  KeyRules keys_;
  PatternPropertyRules patterns_;
};

}  // namespace realizar::grammar
