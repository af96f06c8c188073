// Tests, which follow "is".
#include <array>

#include "text/jinja/builtins.h"

namespace realizar::text::jinja {
namespace {

int64_t whole(const Value& value) {
  if (!value.is_int() && !value.is_bool())
    throw TemplateError{std::string("expected an integer, not ") + type_name(value)};
  return value.as_int();
}

const Value& other(const Args& args) {
  return required_arg(args, 0, "other");
}

bool same(const Value& a, const Value& b) {
  if (a.is_list() && b.is_list()) return a.list() == b.list();
  if (a.is_dict() && b.is_dict()) return a.dict() == b.dict();
  return std::string_view(type_name(a)) == type_name(b) && equal(a, b);
}

constexpr auto kTests = std::to_array<Named<Test>>({
    {"defined", [](Interpreter&, const Value& v, Args&) { return !v.is_undefined(); }},
    {"undefined", [](Interpreter&, const Value& v, Args&) { return v.is_undefined(); }},
    {"none", [](Interpreter&, const Value& v, Args&) { return v.is_none(); }},
    {"boolean", [](Interpreter&, const Value& v, Args&) { return v.is_bool(); }},
    {"true", [](Interpreter&, const Value& v, Args&) { return v.is_bool() && v.as_bool(); }},
    {"false", [](Interpreter&, const Value& v, Args&) { return v.is_bool() && !v.as_bool(); }},
    {"integer", [](Interpreter&, const Value& v, Args&) { return v.is_int(); }},
    {"float", [](Interpreter&, const Value& v, Args&) { return v.is_float(); }},
    {"number", [](Interpreter&, const Value& v, Args&) { return v.is_number(); }},
    {"string", [](Interpreter&, const Value& v, Args&) { return v.is_string(); }},
    {"mapping", [](Interpreter&, const Value& v, Args&) { return v.is_dict() && !v.dict()->is_namespace; }},
    {"iterable", [](Interpreter&, const Value& v, Args&) { return v.is_string() || v.is_list() || v.is_undefined() || (v.is_dict() && !v.dict()->is_namespace); }},
    {"sequence", [](Interpreter&, const Value& v, Args&) { return v.is_string() || v.is_list() || v.is_undefined() || (v.is_dict() && !v.dict()->is_namespace); }},
    {"callable", [](Interpreter&, const Value& v, Args&) { return v.is_callable() || v.is_undefined(); }},
    {"sameas", [](Interpreter&, const Value& v, Args& a) { return same(v, other(a)); }},
    {"escaped", [](Interpreter&, const Value&, Args&) { return false; }},
    {"odd", [](Interpreter&, const Value& v, Args&) { return whole(v) % 2 != 0; }},
    {"even", [](Interpreter&, const Value& v, Args&) { return whole(v) % 2 == 0; }},
    {"divisibleby", [](Interpreter&, const Value& v, Args& a) { return equal(binary(Operator::kModulo, v, other(a)), 0); }},
    {"lower", [](Interpreter&, const Value& v, Args&) { const std::string s = to_text(v).str(); return s == lower_utf8(s) && s != upper_utf8(s); }},
    {"upper", [](Interpreter&, const Value& v, Args&) { const std::string s = to_text(v).str(); return s == upper_utf8(s) && s != lower_utf8(s); }},
    {"in", [](Interpreter&, const Value& v, Args& a) { return contains(other(a), v); }},
    {"eq", [](Interpreter&, const Value& v, Args& a) { return equal(v, other(a)); }},
    {"equalto", [](Interpreter&, const Value& v, Args& a) { return equal(v, other(a)); }},
    {"==", [](Interpreter&, const Value& v, Args& a) { return equal(v, other(a)); }},
    {"ne", [](Interpreter&, const Value& v, Args& a) { return !equal(v, other(a)); }},
    {"!=", [](Interpreter&, const Value& v, Args& a) { return !equal(v, other(a)); }},
    {"lt", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) < 0; }},
    {"lessthan", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) < 0; }},
    {"<", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) < 0; }},
    {"le", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) <= 0; }},
    {"<=", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) <= 0; }},
    {"gt", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) > 0; }},
    {"greaterthan", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) > 0; }},
    {">", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) > 0; }},
    {"ge", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) >= 0; }},
    {">=", [](Interpreter&, const Value& v, Args& a) { return compare(v, other(a)) >= 0; }},
    {"filter", [](Interpreter&, const Value& v, Args&) { return find_filter(to_text(v).str()) != nullptr; }},
    {"test", [](Interpreter&, const Value& v, Args&) { return find_test(to_text(v).str()) != nullptr; }},
});

}  // namespace

Test find_test(std::string_view name) {
  return find_named<Test>(kTests, name);
}

}  // namespace realizar::text::jinja
