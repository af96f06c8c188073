// Arrays of which some items have to be like another schema, or only so many may be.
#pragma once

#include <string>

#include "grammar/schema/context.h"

namespace realizar::grammar {

class ValueRules;

// Whether the schema has a "contains" that matters.
bool counts_items(const Json& schema);

class ContainsRules {
 public:
  ContainsRules(SchemaContext& context, ValueRules& values) : book_(context.book()), values_(values) {}

  // The arrays of a schema that counts items, with as many items as `counts` says.
  Result<ValueExpr> array(const Json& schema, const Counts& counts, const std::string& path);

 private:
  struct ItemKinds {
    ValueExpr counted, other;
  };
  Result<ItemKinds> item_kinds(const Json& schema, size_t place, const std::string& path);

  RuleBook& book_;
  ValueRules& values_;
};

}  // namespace realizar::grammar
