#include "text/jinja/builtins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "text/jinja/text.h"

namespace realizar::text::jinja {
namespace {

std::string_view symbol(Operator op) {
  static constexpr std::array<std::string_view, 19> kSymbols = {
      "+", "-", "*", "/", "//", "%", "**", "~", "and", "or", "not", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kSymbols[static_cast<size_t>(op)];
}

[[noreturn]] void unsupported_operands(Operator op, const Value& a, const Value& b) {
  require_defined(a);
  require_defined(b);
  fail("unsupported operand type(s) for " + std::string(symbol(op)) + ": '" + type_name(a) + "' and '" + type_name(b) +
       "'");
}

int64_t checked_int(double value) {
  if (!(std::fabs(value) < 9.2e18)) fail("integer overflow");
  return static_cast<int64_t>(value);
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) fail("division by zero");
  if (b == -1) return checked_int(-static_cast<double>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Value integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) fail("integer overflow");
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) fail("integer overflow");
  }
  return result;
}

Value integer_arithmetic(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = op == Operator::kAdd        ? __builtin_add_overflow(a, b, &result)
                         : op == Operator::kSubtract ? __builtin_sub_overflow(a, b, &result)
                                                     : __builtin_mul_overflow(a, b, &result);
  if (overflows) fail("integer overflow");
  return result;
}

Value integer_operation(Operator op, int64_t a, int64_t b) {
  switch (op) {
    case Operator::kPower:
      return integer_power(a, b);
    case Operator::kFloorDivide:
      return floor_div(a, b);
    case Operator::kModulo:
      return a - floor_div(a, b) * b;
    default:
      return integer_arithmetic(op, a, b);
  }
}

Value float_operation(Operator op, double a, double b) {
  const bool divides = op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kModulo;
  if (divides && b == 0) fail("division by zero");
  switch (op) {
    case Operator::kAdd:
      return a + b;
    case Operator::kSubtract:
      return a - b;
    case Operator::kMultiply:
      return a * b;
    case Operator::kDivide:
      return a / b;
    case Operator::kFloorDivide:
      return std::floor(a / b);
    case Operator::kModulo:
      return a - std::floor(a / b) * b;
    default:
      return std::pow(a, b);
  }
}

Value arithmetic(Operator op, const Value& a, const Value& b) {
  const bool both_int = !a.is_float() && !b.is_float();
  if (both_int && op != Operator::kDivide) return integer_operation(op, a.as_int(), b.as_int());
  return float_operation(op, a.as_double(), b.as_double());
}

Value repeated(const Value& sequence, int64_t n) {
  const size_t unit = sequence.is_string() ? sequence.text().size() : sequence.items().size();
  const size_t times = n > 0 ? static_cast<size_t>(n) : 0;
  count_steps(unit == 0 ? 1 : std::min(times, kMaxSteps) * (sequence.is_string() ? 1 : unit));
  if (sequence.is_string()) {
    Text text;
    for (size_t i = 0; i < times && unit > 0; ++i) text.append(sequence.text());
    return text;
  }
  std::vector<Value> items;
  for (size_t i = 0; i < times && unit > 0; ++i) {
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return make_list(std::move(items), sequence.list()->is_tuple);
}

struct SliceBounds {
  int64_t start, stop, step;
};

// Python's slice.indices.
SliceBounds slice_bounds(const Value& start, const Value& stop, const Value& step, int64_t n) {
  const auto given = [](const Value& v) { return !v.is_undefined() && !v.is_none(); };
  const auto whole = [](const Value& v) {
    if (!v.is_int() && !v.is_bool()) fail("slice indices must be integers or None");
    return v.as_int();
  };
  SliceBounds b{0, 0, given(step) ? whole(step) : 1};
  if (b.step == 0) fail("slice step cannot be zero");
  const bool is_forward = b.step > 0;
  const auto clamped = [&](int64_t i) {
    if (i < 0) i = i < -n ? -1 : i + n;
    if (i < 0) return is_forward ? int64_t{0} : int64_t{-1};
    return std::min(i, is_forward ? n : n - 1);
  };
  b.start = given(start) ? clamped(whole(start)) : is_forward ? 0 : n - 1;
  b.stop = given(stop) ? clamped(whole(stop)) : is_forward ? n : -1;
  return b;
}

// `offsets`: of the text's characters.
Text sliced(const Text& text, const std::vector<size_t>& offsets, const SliceBounds& b) {
  const auto at = [&](int64_t i) { return offsets[static_cast<size_t>(i)]; };
  if (b.step == 1) return b.stop > b.start ? text.substr(at(b.start), at(b.stop) - at(b.start)) : Text();
  Text out;
  for (int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop; i += b.step) {
    out.append(text.substr(at(i), at(i + 1) - at(i)));
  }
  return out;
}

bool is_in_order(Operator op, int order) {
  switch (op) {
    case Operator::kLess:
      return order < 0;
    case Operator::kLessEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace

void require_defined(const Value& value) {
  if (value.is_undefined()) fail("'" + value.undefined_name() + "' is undefined");
}

Value unary(Operator op, const Value& operand) {
  if (op == Operator::kNot) return !truthy(operand);
  if (!operand.is_number()) {
    require_defined(operand);
    fail("bad operand type for unary " + std::string(symbol(op)) + ": '" + type_name(operand) + "'");
  }
  if (op == Operator::kAdd) return operand.is_bool() ? Value(operand.as_int()) : operand;
  return operand.is_float() ? Value(-operand.as_double()) : integer_arithmetic(op, 0, operand.as_int());
}

Value binary(Operator op, const Value& left, const Value& right) {
  if (op == Operator::kConcat) {
    Text text = to_text(left);
    text.append(to_text(right));
    return text;
  }
  if (left.is_number() && right.is_number()) return arithmetic(op, left, right);
  if (op == Operator::kModulo && left.is_string()) return percent_format(left.text(), right);
  if (op == Operator::kAdd && left.is_string() && right.is_string()) {
    count_work(left.text().size());
    Text text = left.text();
    text.append(right.text());
    return text;
  }
  if (op == Operator::kAdd && left.is_list() && right.is_list() && left.list()->is_tuple == right.list()->is_tuple) {
    count_steps(left.items().size() + right.items().size());
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return make_list(std::move(items), left.list()->is_tuple);
  }
  const bool is_whole = right.is_int() || right.is_bool();
  if (op == Operator::kMultiply && (left.is_string() || left.is_list()) && is_whole)
    return repeated(left, right.as_int());
  if (op == Operator::kMultiply && (right.is_string() || right.is_list()) && left.is_int())
    return repeated(right, left.as_int());
  unsupported_operands(op, left, right);
}

bool holds(Operator op, const Value& left, const Value& right) {
  switch (op) {
    case Operator::kEqual:
      return equal(left, right);
    case Operator::kNotEqual:
      return !equal(left, right);
    case Operator::kIn:
      return contains(right, left);
    case Operator::kNotIn:
      return !contains(right, left);
    default:
      if (left.is_undefined() || right.is_undefined()) unsupported_operands(op, left, right);
      return is_in_order(op, compare(left, right));
  }
}

Value slice(const Value& object, const Value& start, const Value& stop, const Value& step) {
  require_defined(object);
  // A slice of anything else is undefined, like a missing item.
  if (!object.is_string() && !object.is_list()) return Undefined{std::string(type_name(object)) + " object's slice"};
  const auto bounds_in = [&](size_t n) { return slice_bounds(start, stop, step, static_cast<int64_t>(n)); };
  if (object.is_string()) {
    const auto offsets = char_offsets(object.str());
    return sliced(object.text(), offsets, bounds_in(offsets.size() - 1));
  }
  const SliceBounds b = bounds_in(object.items().size());
  std::vector<Value> items;
  for (int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop; i += b.step) {
    items.push_back(object.items()[static_cast<size_t>(i)]);
  }
  count_steps(items.size());
  return make_list(std::move(items), object.list()->is_tuple);
}

}  // namespace realizar::text::jinja
