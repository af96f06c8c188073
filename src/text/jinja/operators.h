// Python's operators on values. All throw TemplateError where the values do not fit.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace realizar::text::jinja {

void require_defined(const Value& value);
// kAdd, kSubtract or kNot.
Value unary(Operator op, const Value& operand);
// kAdd to kConcat; `and` and `or` evaluate their right side only where they need it, and so are the interpreter's.
Value binary(Operator op, const Value& left, const Value& right);
// kEqual to kNotIn.
bool holds(Operator op, const Value& left, const Value& right);
// object[start:stop:step]; bounds that are absent are undefined.
Value slice(const Value& object, const Value& start, const Value& stop, const Value& step);

}  // namespace realizar::text::jinja
