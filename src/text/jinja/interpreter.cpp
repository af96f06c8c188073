#include "text/jinja/interpreter.h"

#include <algorithm>

#include "text/jinja/builtins.h"

namespace realizar::text::jinja {
namespace {

constexpr size_t kMaxOutputBytes = size_t{1} << 26;  // total of all captured output

bool is_private(const std::string& name) {
  return name.starts_with("_");
}

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    const auto found = scope->variables.find(name);
    if (found != scope->variables.end()) return &found->second;
  }
  return nullptr;
}

Interpreter::Interpreter(ScopePtr globals, int64_t now_unix_s)
    : scope_(std::make_shared<Scope>(Scope{std::move(globals), {}})), now_unix_s_(now_unix_s) {}

Text Interpreter::run(const Body& body) {
  const Work work(kMaxSteps * kTicksAStep);
  run_body(body);
  return std::move(output_);
}

void Interpreter::print(const Text& text) {
  n_output_bytes_ += text.size();
  if (n_output_bytes_ > kMaxOutputBytes) throw TemplateError{"the template prints too much", true};
  output_.append(text);
}

Text Interpreter::captured(const Body& body) {
  Text outer = std::exchange(output_, Text());
  run_scoped(body);
  return std::exchange(output_, std::move(outer));
}

Value Interpreter::evaluate(const Expr& expr) {
  const Nested nested(*this);
  const auto child = [&](size_t i) { return evaluate(*expr.children[i]); };
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return expr.literal;
    case ExprKind::kName: {
      const Value* found = scope_->find(expr.name);
      return found != nullptr ? *found : Value(Undefined{expr.name});
    }
    case ExprKind::kList:
    case ExprKind::kTuple: {
      std::vector<Value> items;
      for (const ExprPtr& item : expr.children) items.push_back(evaluate(*item));
      return make_list(std::move(items), expr.kind == ExprKind::kTuple);
    }
    case ExprKind::kDict: {
      auto dict = std::make_shared<Dict>();
      for (size_t i = 0; i < expr.children.size(); i += 2) dict->set(child(i), child(i + 1));
      return dict;
    }
    case ExprKind::kUnary:
      return unary(expr.op, child(0));
    case ExprKind::kBinary:
      return evaluate_logic(expr);
    case ExprKind::kCompare:
      return evaluate_compare(expr);
    case ExprKind::kCondition:
      if (truthy(child(1))) return child(0);
      return expr.children[2] ? child(2) : Value(Undefined{"the inline if-expression without else"});
    case ExprKind::kAttribute:
      return attribute(child(0), expr.name);
    case ExprKind::kItem: {
      const Value object = child(0);
      return item(object, child(1));
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr);
    case ExprKind::kCall: {
      const Value callee = child(0);
      Args args = evaluate_args(expr.args);
      return call(callee, args);
    }
    case ExprKind::kFilter:
      return evaluate_filter(expr);
    case ExprKind::kTest: {
      const Value input = child(0);
      Args args = evaluate_args(expr.args);
      return apply_test(expr.name, input, args);
    }
  }
  return {};
}

Value Interpreter::evaluate_logic(const Expr& expr) {
  const Value left = evaluate(*expr.children[0]);
  if (expr.op == Operator::kAnd) return truthy(left) ? evaluate(*expr.children[1]) : left;
  if (expr.op == Operator::kOr) return truthy(left) ? left : evaluate(*expr.children[1]);
  return binary(expr.op, left, evaluate(*expr.children[1]));
}

bool Interpreter::evaluate_compare(const Expr& expr) {
  Value left = evaluate(*expr.children[0]);
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    Value right = evaluate(*expr.children[i + 1]);
    if (!holds(expr.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::evaluate_slice(const Expr& expr) {
  const Value object = evaluate(*expr.children[0]);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (expr.children[i + 1]) bounds[i] = evaluate(*expr.children[i + 1]);
  }
  return slice(object, bounds[0], bounds[1], bounds[2]);
}

Value Interpreter::evaluate_filter(const Expr& expr) {
  const Value input = expr.children[0] ? evaluate(*expr.children[0]) : block_input_;
  Args args = evaluate_args(expr.args);
  return apply_filter(expr.name, input, args);
}

Args Interpreter::evaluate_args(const CallArgs& args) {
  Args values;
  for (const ExprPtr& arg : args.positional) values.positional.push_back(evaluate(*arg));
  if (args.star) {
    for (Value& item : iterate(evaluate(*args.star))) values.positional.push_back(std::move(item));
  }
  for (const auto& [name, arg] : args.named) values.named.emplace_back(name, evaluate(*arg));
  if (args.double_star) {
    const Value more = evaluate(*args.double_star);
    if (!more.is_dict()) fail("the argument after ** must be a mapping");
    for (const auto& [key, value] : more.dict()->items) values.named.emplace_back(to_text(key).str(), value);
  }
  return values;
}

Value Interpreter::call(const Value& callee, Args& args) {
  const Nested nested(*this);
  require_defined(callee);
  if (!callee.is_callable()) fail(std::string("'") + type_name(callee) + "' object is not callable");
  return callee.callable()->call(*this, args);
}

Value Interpreter::apply_filter(const std::string& name, const Value& input, Args& args) {
  const Filter filter = find_filter(name);
  if (filter == nullptr) fail("no filter named '" + name + "'");
  return filter(*this, input, args);
}

bool Interpreter::apply_test(const std::string& name, const Value& input, Args& args) {
  const Test test = find_test(name);
  if (test == nullptr) fail("no test named '" + name + "'");
  return test(*this, input, args);
}

Value Interpreter::attribute(const Value& object, const std::string& name) {
  require_defined(object);
  if (is_private(name)) return Undefined{name};  // the sandbox hides them
  const Method method = object.is_string()                                 ? find_string_method(name)
                        : object.is_list()                                 ? find_list_method(name)
                        : object.is_dict() && !object.dict()->is_namespace ? find_dict_method(name)
                                                                           : nullptr;
  if (method != nullptr) {
    return make_function(name, [object, method](Interpreter& in, Args& args) { return method(in, object, args); });
  }
  const Dict* dict = object.is_dict()       ? object.dict().get()
                     : object.is_callable() ? object.callable()->attributes.get()
                                            : nullptr;
  if (dict != nullptr) {
    if (const Value* found = dict->find(std::string_view(name))) return *found;
  }
  if (object.is_callable() && name == "name") return object.callable()->name;
  return Undefined{name};
}

Value Interpreter::item(const Value& object, const Value& key) {
  require_defined(object);
  const bool is_whole = key.is_int() || key.is_bool();
  if (object.is_dict()) {
    if (const Value* found = object.dict()->find(key)) return *found;
  } else if (object.is_list() && is_whole) {
    const auto n = static_cast<int64_t>(object.items().size());
    const int64_t i = key.as_int() < 0 ? key.as_int() + n : key.as_int();
    return i >= 0 && i < n ? object.items()[static_cast<size_t>(i)] : Value(Undefined{std::to_string(key.as_int())});
  } else if (object.is_string() && is_whole) {
    const auto offsets = char_offsets(object.str());
    const auto n = static_cast<int64_t>(offsets.size()) - 1;
    const int64_t i = key.as_int() < 0 ? key.as_int() + n : key.as_int();
    if (i < 0 || i >= n) return Undefined{std::to_string(key.as_int())};
    const auto at = static_cast<size_t>(i);
    return object.text().substr(offsets[at], offsets[at + 1] - offsets[at]);
  }
  return key.is_string() ? attribute(object, key.str()) : Value(Undefined{to_text(key).str()});
}

}  // namespace realizar::text::jinja
