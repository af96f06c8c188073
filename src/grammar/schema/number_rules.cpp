#include "grammar/schema/number_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/regular.h"
#include "grammar/schema/multiples.h"
#include "grammar/schema/negation.h"

namespace realizar::grammar {
namespace {

// A digit of a bound is up to three expressions, which nest.
constexpr size_t kMaxRangeDepth = 450;

// Keeps the tighter of two bounds; the exclusive one on ties.
void tighten(std::optional<Bound>& bound, const Bound& other, int direction) {
  const int order = bound ? direction * compare(other.value, bound->value) : 1;
  if (order > 0 || (order == 0 && other.exclusive)) bound = other;
}

Result<Bounds> bounds_of(const Json& schema, const std::string& path) {
  Bounds bounds;
  for (const char* name : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const auto found = schema.find(name);
    if (found == schema.end()) continue;
    const auto value = decimal_of(found->dump());
    if (!value) return unsupported(fmt::format("{}: \"{}\" has too many digits", path, name), path_to(path, name));
    const std::string_view keyword = name;
    const bool is_low = keyword.ends_with("inimum");
    tighten(is_low ? bounds.low : bounds.high, {*value, keyword.starts_with("exclusive")}, is_low ? 1 : -1);
  }
  return bounds;
}

// Multiples have fewer digits than other numbers, since their automata count digits.
constexpr size_t kMaxMultipleDigits = 15;

bool is_about_numbers(const Json& leaf) {
  if (leaf.contains("multipleOf")) return true;
  return leaf.contains("enum") && std::ranges::any_of(leaf["enum"], [](const Json& v) { return v.is_number(); });
}

TermId digits(Terms& terms, uint64_t min, uint64_t max) {
  return terms.repeat(terms.chars({{'0', '9'}}), min, max);
}

// `whole`, optionally followed by a fraction.
TermId with_fraction(Terms& terms, TermId whole, TermId fraction) {
  return terms.any_of({whole, terms.sequence(whole, terms.sequence(terms.literal("."), fraction))});
}

// Every spelling of a number without exponent.
TermId spellings_of(Terms& terms, const Decimal& number) {
  const TermId zeros = terms.repeat(terms.literal("0"), 0, kNoMaximum);
  TermId whole = terms.literal((number.negative ? "-" : "") + number.whole);
  if (number.is_zero()) whole = terms.any_of({whole, terms.literal("-0")});
  const TermId fraction = terms.sequence(terms.literal(number.fraction), zeros);
  if (number.fraction.empty()) return with_fraction(terms, whole, terms.sequence(terms.literal("0"), zeros));
  return terms.sequence(whole, terms.sequence(terms.literal("."), fraction));
}

// Numbers with at most these digits, without -0.
TermId short_numbers(Terms& terms, size_t n_whole, size_t n_fraction) {
  const TermId natural = terms.sequence(terms.chars({{'1', '9'}}), digits(terms, 0, n_whole - 1));
  const TermId whole = terms.any_of({terms.literal("0"), natural});
  const TermId all = with_fraction(terms, whole, digits(terms, 1, n_fraction));
  const TermId signed_all = terms.any_of({all, terms.sequence(terms.literal("-"), all)});
  return terms.without(signed_all, terms.sequence(terms.literal("-"), spellings_of(terms, {})));
}

size_t n_whole_digits(const Bounds& bounds) {
  size_t n = kMaxMultipleDigits;
  if (bounds.low) n = std::max(n, bounds.low->value.whole.size() + 1);
  if (bounds.high) n = std::max(n, bounds.high->value.whole.size() + 1);
  return n;
}

// The multiples of a number.
Result<TermId> multiples(Terms& terms, const Json& divisor, bool is_integer, const std::string& path) {
  const auto number = decimal_of(divisor.dump());
  const auto machine = number ? multiples_of(*number, is_integer) : std::nullopt;
  if (machine) return terms.machine(*machine);
  return unsupported(fmt::format("{}: \"multipleOf\" {} takes too large an automaton", path, divisor.dump()),
                     path_to(path, "multipleOf"));
}

}  // namespace

Result<ValueExpr> NumberRules::number(const Json& schema, bool is_integer, const std::string& path) {
  auto exact = bounds_of(schema, path);
  if (!exact.ok()) RZ_CHECK_OK(context_.left_out().take(exact.error()));
  const Bounds bounds = exact.ok() ? *exact : Bounds();
  const auto multiple = schema.find("multipleOf");
  const bool is_trivial = multiple == schema.end() || (is_integer && *multiple == Json(1));
  if (is_trivial && std::ranges::none_of(excluded(schema), is_about_numbers)) {
    return number_range_of(bounds, is_integer, path);
  }
  auto machine = machine_of_numbers(schema, bounds, is_integer, path);
  if (machine.ok()) return machine;
  RZ_CHECK_OK(context_.left_out().take(machine.error()));
  return number_range_of(bounds, is_integer, path);
}

Result<ValueExpr> NumberRules::number_range_of(const Bounds& bounds, bool is_integer, const std::string& path) {
  if (!bounds.low && !bounds.high) return ValueExpr(book_.shared(is_integer ? "integer" : "number"));
  const auto body =
      is_integer ? integer_range(book_, bounds.low, bounds.high) : number_range(book_, bounds.low, bounds.high);
  if (!body) return ValueExpr();
  if (book_.depth_of(*body) > kMaxRangeDepth) {
    RZ_CHECK_OK(
        context_.left_out().take(unsupported(path + ": \"minimum\" and \"maximum\" have too many digits", path)));
    return ValueExpr(book_.shared(is_integer ? "integer" : "number"));
  }
  return ValueExpr(book_.add(is_integer ? "integer" : "number", *body));
}

Result<ValueExpr> NumberRules::machine_of_numbers(const Json& schema, const Bounds& bounds, bool is_integer,
                                                  const std::string& path) {
  Terms terms;
  const auto range =
      is_integer ? integer_range(book_, bounds.low, bounds.high) : number_range(book_, bounds.low, bounds.high);
  if (!range) return ValueExpr();
  std::vector<TermId> parts{terms.of_expr(book_, *range)};
  if (const auto divisor = schema.find("multipleOf"); divisor != schema.end()) {
    RZ_TRY(const TermId own, multiples(terms, *divisor, is_integer, path));
    const size_t n_fraction = std::max<size_t>(decimal_of(divisor->dump())->fraction.size(), 1);
    parts.insert(parts.end(), {own, short_numbers(terms, n_whole_digits(bounds), n_fraction)});
  }
  std::vector<TermId> others;
  for (const Json& leaf : excluded(schema)) {
    if (leaf.contains("multipleOf")) {
      RZ_TRY(const TermId own, multiples(terms, leaf["multipleOf"], is_integer, path));
      others.push_back(own);
    }
    for (const Json& value : leaf.value("enum", Json::array())) {
      const auto number = value.is_number() ? decimal_of(value.dump()) : std::nullopt;
      if (number) others.push_back(spellings_of(terms, *number));
    }
  }
  parts.push_back(terms.complement(terms.any_of(others)));
  const auto machine = terms.machine_of(terms.all_of(parts));
  if (!machine) {
    const char* keyword = schema.contains("multipleOf") ? "multipleOf" : "not";
    return unsupported(fmt::format("{}: \"{}\" and the bounds take too large an automaton", path, keyword),
                       path_to(path, keyword));
  }
  if (machine->states.empty()) return ValueExpr();
  return ValueExpr(book_.add(is_integer ? "integer" : "number", expr_of(book_, *machine, false)));
}

Result<bool> is_multiple(const Json& value, const Json& divisor, const std::string& path) {
  Terms terms;
  RZ_TRY(const TermId own, multiples(terms, divisor, false, path));
  const auto number = decimal_of(value.dump());
  if (!number) return false;
  const std::string sign = number->negative ? "-" : "", point = number->fraction.empty() ? "" : ".";
  return terms.matches(own, sign + number->whole + point + number->fraction).value_or(false);
}

}  // namespace realizar::grammar
