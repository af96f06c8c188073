// Arrays of distinct items, each from a finite set of values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grammar/schema/context.h"
#include "grammar/schema/finite_values.h"

namespace realizar::grammar {

class UniqueItems {
 public:
  UniqueItems(SchemaContext& context, FiniteValues& finite_values)
      : context_(context), book_(context.book()), finite_values_(finite_values) {}

  Result<ValueExpr> array(const Json& schema, uint64_t min, uint64_t max, const std::string& path);

 private:
  std::optional<ValueExpr> subset_items(const Json& universe, const std::vector<Json>& allowed, uint64_t min,
                                        uint64_t max);
  ExprId ordered_items(const Json& universe, uint64_t min, uint64_t max);

  SchemaContext& context_;
  RuleBook& book_;
  FiniteValues& finite_values_;
};

}  // namespace realizar::grammar
