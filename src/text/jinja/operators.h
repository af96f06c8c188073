// Python's operators on values. All throw TemplateError if the values do not fit.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace realizar::text::jinja {

void require_defined(const Value& value);
// kAdd, kSubtract or kNot.
Value unary(Operator op, const Value& operand);
// kAdd to kConcat; `and` and `or` may skip their right side, so the interpreter evaluates them.
Value binary(Operator op, const Value& left, const Value& right);
// kEqual to kNotIn.
bool holds(Operator op, const Value& left, const Value& right);
// object[start:stop:step]; absent bounds are undefined.
Value slice(const Value& object, const Value& start, const Value& stop, const Value& step);

}  // namespace realizar::text::jinja
