// Schemas with finitely many values.
#pragma once

#include <optional>
#include <string>

#include "grammar/schema/context.h"
#include "grammar/schema/value_checker.h"

namespace realizar::grammar {

class FiniteValues {
 public:
  FiniteValues(SchemaContext& context, ValueChecker& checker) : context_(context), checker_(checker) {}

  // The distinct values of a schema; nullopt if there may be more, or they are unknown.
  Result<std::optional<Json>> of(const Json& schema, const std::string& path, int depth = 0);
  // A list's distinct values; nullopt if there are too many.
  static std::optional<Json> distinct(const Json& values);

 private:
  SchemaContext& context_;
  ValueChecker& checker_;
};

}  // namespace realizar::grammar
