// JSON Schema's `multipleOf`, exact, on the digits of numbers.
#pragma once

#include <optional>

#include "grammar/regular.h"
#include "grammar/schema/number_ranges.h"

namespace realizar::grammar {

// The numbers without exponent, with any leading and trailing zeros, that are multiples of `divisor`, which is
// positive. `is_integer`: without a decimal point. nullopt for divisors that exceed 2^31 without their point, or if the
// automaton is too large.
std::optional<TextMachine> multiples_of(const Decimal& divisor, bool is_integer);

// The least common multiple. nullopt if it exceeds 2^31 without its point.
std::optional<Decimal> common_multiple(const Decimal& a, const Decimal& b);

}  // namespace realizar::grammar
