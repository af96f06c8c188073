// JSON Schema's `multipleOf`, exactly, on the digits of numbers.
#pragma once

#include <optional>

#include "grammar/regular.h"
#include "grammar/schema/number_ranges.h"

namespace realizar::grammar {

// The numbers without exponent, with any zeros before and after, that are multiples of `divisor`, which is above 0.
// `is_integer`: those without a point. nullopt for divisors beyond 2^31 without their point, or that take too large an
// automaton.
std::optional<TextMachine> multiples_of(const Decimal& divisor, bool is_integer);

// The numbers whose multiples are those of both. nullopt where that is beyond 2^31 without its point.
std::optional<Decimal> common_multiple(const Decimal& a, const Decimal& b);

}  // namespace realizar::grammar
