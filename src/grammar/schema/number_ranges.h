// Rules over decimal digits for numbers between bounds, exact for bounds of any size.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grammar/rule_book.h"

namespace realizar::grammar {

// A decimal number without exponent, without redundant zeros, so zero is {false, "0", ""}.
struct Decimal {
  bool negative = false;
  std::string whole = "0";
  std::string fraction;
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// Parses JSON's spelling, with exponents expanded. nullopt beyond 400 digits.
std::optional<Decimal> decimal_of(std::string_view json_number);
int compare(const Decimal& a, const Decimal& b);  // <0, 0, >0

struct Bound {
  Decimal value;
  bool exclusive = false;
};

// nullopt: no number lies between. Integers have no sign on zero; numbers have no exponent and at most 32 digits (or
// the bound's) on either side of the point.
std::optional<ExprId> integer_range(RuleBook& book, const std::optional<Bound>& low, const std::optional<Bound>& high);
std::optional<ExprId> number_range(RuleBook& book, const std::optional<Bound>& low, const std::optional<Bound>& high);

}  // namespace realizar::grammar
