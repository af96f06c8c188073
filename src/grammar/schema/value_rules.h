// Rules of any value: resolves combinations of schemas until one type is left.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "grammar/schema/array_rules.h"
#include "grammar/schema/context.h"
#include "grammar/schema/finite_values.h"
#include "grammar/schema/number_rules.h"
#include "grammar/schema/object_rules.h"
#include "grammar/schema/references.h"
#include "grammar/schema/string_language.h"
#include "grammar/schema/string_rules.h"
#include "grammar/schema/value_checker.h"

namespace realizar::grammar {

class ValueRules {
 public:
  // Both must outlive it.
  ValueRules(SchemaContext& context, SchemaReferences& references);
  ValueRules(const ValueRules&) = delete;
  ValueRules& operator=(const ValueRules&) = delete;

  // `path` is the schema's path in the document, and names its rules.
  Result<ValueExpr> value(const Json& schema, const std::string& path);
  StringRules& strings() { return strings_; }
  // Whether some rule has no alternatives.
  bool has_impossible() const { return has_impossible_; }

 private:
  Result<ValueExpr> object_value(const Json& schema, const std::string& path);
  Result<ValueExpr> reference(const std::string& ref, const std::string& path);
  Result<ValueExpr> flattened(const Json& schema, const std::string& path);
  Result<ValueExpr> merged_value(const Json& merged, const std::string& path);
  Result<ValueExpr> alternatives(const Json& schema, const char* keyword, const std::string& path);
  Result<ValueExpr> listed_values(const Json& schema, const std::string& path);
  Result<ValueExpr> typed_value(const Json& schema, const std::string& path);
  Result<ValueExpr> value_of_type(const std::string& type, const Json& schema, const std::string& path);
  ValueExpr word(const std::string& type, const Json& schema);

  SchemaContext& context_;
  RuleBook& book_;
  SchemaReferences& references_;
  StringLanguage languages_;
  ValueChecker checker_;
  FiniteValues finite_values_;
  NumberRules numbers_;
  StringRules strings_;
  ArrayRules arrays_;
  ObjectRules objects_;

  struct Merged {
    std::optional<RuleId> rule;  // nullopt: no document satisfies it
    bool is_used = false;        // recursively
  };
  std::map<std::string, Merged> merged_;  // by the merged schema's text
  size_t n_merged_ = 0;
  bool has_impossible_ = false;
};

}  // namespace realizar::grammar
