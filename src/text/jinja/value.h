// The values of a template: the subset of Python's that templates use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/text.h"

namespace realizar::text::jinja {

class Interpreter;
class Value;

// Thrown inside this folder, caught in chat_template.cpp.
struct TemplateError {
  std::string message;
  bool is_limit = false;  // a limit of the interpreter, not a fault of the template or the conversation
};
[[noreturn]] void fail(const std::string& message);

struct Undefined {
  std::string name;
};
struct None {};

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
  bool is_lazy = false;   // Python's generator, which is true even if it is empty
  bool is_given = false;  // part of the template's variables, so the template may not change it
};

// Insertion-ordered, like Python's dict.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  bool is_namespace = false;
  bool is_given = false;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  // The argument at `i` or called `name`; null if neither is given.
  const Value* get(size_t i, std::string_view name) const;
};

struct Callable {
  std::string name;
  std::function<Value(Interpreter&, Args&)> call;
  std::shared_ptr<Dict> attributes;  // of a loop; null otherwise
};

class Value {
 public:
  Value() : v_(Undefined{}) {}
  Value(Undefined u) : v_(std::move(u)) {}
  Value(None n) : v_(n) {}
  Value(bool b) : v_(b) {}
  Value(int i) : v_(int64_t{i}) {}
  Value(int64_t i) : v_(i) {}
  Value(size_t i) : v_(static_cast<int64_t>(i)) {}
  Value(double d) : v_(d) {}
  Value(Text t) : v_(std::make_shared<const Text>(std::move(t))) {}
  Value(std::string s) : Value(Text(std::move(s))) {}
  Value(const char* s) : Value(Text(s)) {}
  Value(std::shared_ptr<List> l) : v_(std::move(l)) {}
  Value(std::shared_ptr<Dict> d) : v_(std::move(d)) {}
  Value(std::shared_ptr<Callable> c) : v_(std::move(c)) {}

  bool is_undefined() const { return std::holds_alternative<Undefined>(v_); }
  bool is_none() const { return std::holds_alternative<None>(v_); }
  bool is_bool() const { return std::holds_alternative<bool>(v_); }
  bool is_int() const { return std::holds_alternative<int64_t>(v_); }
  bool is_float() const { return std::holds_alternative<double>(v_); }
  bool is_number() const { return is_int() || is_float() || is_bool(); }
  bool is_string() const { return std::holds_alternative<std::shared_ptr<const Text>>(v_); }
  bool is_list() const { return std::holds_alternative<std::shared_ptr<List>>(v_); }
  bool is_dict() const { return std::holds_alternative<std::shared_ptr<Dict>>(v_); }
  bool is_callable() const { return std::holds_alternative<std::shared_ptr<Callable>>(v_); }

  const std::string& undefined_name() const { return std::get<Undefined>(v_).name; }
  bool as_bool() const { return std::get<bool>(v_); }
  // The value must be an int or a bool.
  int64_t as_int() const { return is_bool() ? int64_t{as_bool()} : std::get<int64_t>(v_); }
  // The value must be a number.
  double as_double() const { return is_float() ? std::get<double>(v_) : static_cast<double>(as_int()); }
  const Text& text() const { return *std::get<std::shared_ptr<const Text>>(v_); }
  const std::string& str() const { return text().str(); }
  const std::vector<Value>& items() const { return std::get<std::shared_ptr<List>>(v_)->items; }
  const std::shared_ptr<List>& list() const { return std::get<std::shared_ptr<List>>(v_); }
  const std::shared_ptr<Dict>& dict() const { return std::get<std::shared_ptr<Dict>>(v_); }
  const std::shared_ptr<Callable>& callable() const { return std::get<std::shared_ptr<Callable>>(v_); }

 private:
  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const Text>, std::shared_ptr<List>,
               std::shared_ptr<Dict>, std::shared_ptr<Callable>>
      v_;
};

Value make_list(std::vector<Value> items, bool is_tuple = false);
Value make_lazy(std::vector<Value> items);
Value make_dict(std::vector<std::pair<Value, Value>> items = {});
Value make_function(std::string name, std::function<Value(Interpreter&, Args&)> call);

// Python's name of the type, for messages.
const char* type_name(const Value& value);
bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
// Negative, zero or positive. Throws if Python defines no order.
int compare(const Value& a, const Value& b);
bool contains(const Value& container, const Value& item);
// Like std::string_view's find and rfind, in time that is accounted for; `part` of rfind_in is not empty.
size_t find_in(std::string_view text, std::string_view part, size_t at);
size_t rfind_in(std::string_view text, std::string_view part, size_t at);
// The items of a for loop: items, keys, characters; none for undefined. Throws for other types.
std::vector<Value> iterate(const Value& value);
size_t length(const Value& value);

// str() and repr(), keeping origins.
Text to_text(const Value& value);
Text repr(const Value& value);
// repr() of a float.
std::string float_repr(double value);

// json.dumps(value, ensure_ascii=False, ...).
struct JsonStyle {
  int indent = -1;  // below 0: one line
  std::string item_separator = ", ", key_separator = ": ";
  bool sort_keys = false, ensure_ascii = false;
};
Text to_json(const Value& value, const JsonStyle& style);

// Byte offsets of the characters of valid UTF-8, and its end.
std::vector<size_t> char_offsets(std::string_view utf8);

}  // namespace realizar::text::jinja
