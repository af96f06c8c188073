// Arrays.
#pragma once

#include <string>
#include <vector>

#include "grammar/schema/contains_rules.h"
#include "grammar/schema/context.h"
#include "grammar/schema/unique_items.h"

namespace realizar::grammar {

class ArrayRules {
 public:
  // All must outlive it; `values` creates the rules of items.
  ArrayRules(SchemaContext& context, ValueRules& values, FiniteValues& finite_values)
      : context_(context),
        book_(context.book()),
        values_(values),
        unique_items_(context, finite_values),
        contains_(context, values) {}

  Result<ValueExpr> array(const Json& schema, const std::string& path);

 private:
  ExprId array_rule(const std::vector<ExprId>& firsts, const ValueExpr& item, uint64_t min, uint64_t max,
                    const std::string& path);

  SchemaContext& context_;
  RuleBook& book_;
  ValueRules& values_;
  UniqueItems unique_items_;
  ContainsRules contains_;
};

}  // namespace realizar::grammar
