// Numbers: as rules if there are only bounds, as automata with multiples or exclusions.
#pragma once

#include <optional>
#include <string>

#include "grammar/schema/context.h"
#include "grammar/schema/number_ranges.h"

namespace realizar::grammar {

// Bounds from minimum and related keywords; a schema can have both inclusive and exclusive ones.
struct Bounds {
  std::optional<Bound> low, high;
};

class NumberRules {
 public:
  explicit NumberRules(SchemaContext& context) : context_(context), book_(context.book()) {}

  Result<ValueExpr> number(const Json& schema, bool is_integer, const std::string& path);

 private:
  Result<ValueExpr> number_range_of(const Bounds& bounds, bool is_integer, const std::string& path);
  Result<ValueExpr> machine_of_numbers(const Json& schema, const Bounds& bounds, bool is_integer,
                                       const std::string& path);

  SchemaContext& context_;
  RuleBook& book_;
};

// Whether a listed number is a multiple of another one; see ValueChecker::is_allowed.
Result<bool> is_multiple(const Json& value, const Json& divisor, const std::string& path);

}  // namespace realizar::grammar
