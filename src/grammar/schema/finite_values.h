// Schemas of finitely many values.
#pragma once

#include <optional>
#include <string>

#include "grammar/schema/context.h"
#include "grammar/schema/value_checker.h"

namespace realizar::grammar {

class FiniteValues {
 public:
  FiniteValues(SchemaContext& context, ValueChecker& checker) : context_(context), checker_(checker) {}

  // The values of a schema, each once; nullopt where they may be more, or cannot be told.
  Result<std::optional<Json>> of(const Json& schema, const std::string& path, int depth = 0);
  // A list's values, each once; nullopt for too many.
  static std::optional<Json> distinct(const Json& values);

 private:
  SchemaContext& context_;
  ValueChecker& checker_;
};

}  // namespace realizar::grammar
