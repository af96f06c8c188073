// Arrays with a minimum or maximum number of items that match another schema.
#pragma once

#include <string>

#include "grammar/schema/context.h"

namespace realizar::grammar {

class ValueRules;

// Whether the schema has an effective "contains".
bool counts_items(const Json& schema);

class ContainsRules {
 public:
  ContainsRules(SchemaContext& context, ValueRules& values) : book_(context.book()), values_(values) {}

  // The arrays of a schema with "contains", within `counts`.
  Result<ValueExpr> array(const Json& schema, const Counts& counts, const std::string& path);

 private:
  struct ItemKinds {
    ValueExpr counted, other;
  };
  Result<ItemKinds> item_kinds(const Json& schema, size_t item_idx, const std::string& path);

  RuleBook& book_;
  ValueRules& values_;
};

}  // namespace realizar::grammar
