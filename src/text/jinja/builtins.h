// The tables of filters, tests and methods, by name. Null for unknown names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/value.h"

namespace realizar::text::jinja {

using Filter = Value (*)(Interpreter&, const Value& input, Args&);
using Test = bool (*)(Interpreter&, const Value& input, Args&);
using Method = Value (*)(Interpreter&, const Value& self, Args&);

// A row of such a table.
template <class Function>
struct Named {
  std::string_view name;
  Function function;
};

template <class Function>
Function find_named(std::span<const Named<Function>> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Named<Function>::name);
  return found == table.end() ? nullptr : found->function;
}

Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
Method find_string_method(std::string_view name);
Method find_list_method(std::string_view name);
Method find_dict_method(std::string_view name);

// Arguments with Python's conversions. Throws TemplateError if they do not fit.
int64_t int_arg(const Args& args, size_t i, std::string_view name, int64_t otherwise);
bool bool_arg(const Args& args, size_t i, std::string_view name, bool otherwise);
Text text_arg(const Args& args, size_t i, std::string_view name, const Text& otherwise);
const Value& required_arg(const Args& args, size_t i, std::string_view name);

// String functions shared by filters and methods.
Text stripped(const Text& text, const Value* chars, bool left, bool right);
Text replaced(const Text& text, const Text& from, const Text& to, int64_t max_count);
Text joined(const std::vector<Value>& items, const Text& separator);
std::string upper_utf8(std::string_view utf8);
std::string lower_utf8(std::string_view utf8);
std::string capitalize_utf8(std::string_view utf8);
std::string title_utf8(std::string_view utf8, bool jinja_rule);
bool is_space_char(std::string_view utf8_char);
// Runs of characters that Python's \w matches: letters, numbers and "_".
int64_t n_words(std::string_view utf8);
// Quotes text for a path, or for a query, where a slash is data and a space is "+".
std::string url_quoted(std::string_view text, bool in_query);
// "%d items" % args, and the format filter.
Text percent_format(const Text& format, const Value& args);
// str.format with {} {0} {name}.
Text brace_format(const Text& format, Args& args);
std::string format_time(const std::string& format, int64_t unix_s);

// Python's operators on values. All throw TemplateError if the values do not fit.
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
