#include "text/jinja/interpreter.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/builtins.h"
#include "text/jinja/lexer.h"

namespace realizar::text::jinja {
namespace {

constexpr int kMaxRunDepth = 1000;       // of calls, expressions and statements
constexpr size_t kMaxSteps = 4'000'000;  // expressions and statements
constexpr size_t kTicksAStep = 64;
constexpr size_t kMaxOutputBytes = size_t{1} << 26;  // of all captured output together

[[noreturn]] void undefined_error(const Value& value) {
  fail("'" + value.undefined_name() + "' is undefined");
}

[[noreturn]] void unsupported_operands(const std::string& op, const Value& a, const Value& b) {
  if (a.is_undefined()) undefined_error(a);
  if (b.is_undefined()) undefined_error(b);
  fail("unsupported operand type(s) for " + op + ": '" + type_name(a) + "' and '" + type_name(b) + "'");
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

Value integer_arithmetic(char op, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = op == '+'   ? __builtin_add_overflow(a, b, &result)
                         : op == '-' ? __builtin_sub_overflow(a, b, &result)
                                     : __builtin_mul_overflow(a, b, &result);
  if (overflows) fail("integer overflow");
  return result;
}

Value arithmetic(const std::string& op, const Value& a, const Value& b) {
  const bool both_int = !a.is_float() && !b.is_float();
  const double x = a.as_double(), y = b.as_double();
  if (op == "/") {
    if (y == 0) fail("division by zero");
    return x / y;
  }
  if (op == "**") return both_int ? integer_power(a.as_int(), b.as_int()) : Value(std::pow(x, y));
  if (op == "//") {
    if (both_int) return floor_div(a.as_int(), b.as_int());
    if (y == 0) fail("division by zero");
    return std::floor(x / y);
  }
  if (op == "%") {
    if (both_int) return a.as_int() - floor_div(a.as_int(), b.as_int()) * b.as_int();
    if (y == 0) fail("division by zero");
    return x - std::floor(x / y) * y;
  }
  if (both_int) return integer_arithmetic(op[0], a.as_int(), b.as_int());
  return op == "+" ? x + y : op == "-" ? x - y : x * y;
}

Value repeated(Interpreter& interpreter, const Value& sequence, int64_t n) {
  const size_t unit = sequence.is_string() ? sequence.text().size() : sequence.items().size();
  const size_t times = n > 0 ? static_cast<size_t>(n) : 0;
  interpreter.spend(unit == 0 ? 1 : std::min(times, kMaxSteps) * (sequence.is_string() ? 1 : unit));
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

// Counts nesting while it lives: no template overflows the stack.
class Interpreter::Nested {
 public:
  explicit Nested(Interpreter& interpreter) : interpreter_(interpreter) {
    if (++interpreter_.depth_ > kMaxRunDepth) throw TemplateError{"the template nests too deep", true};
    interpreter_.spend(1);
  }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --interpreter_.depth_; }

 private:
  Interpreter& interpreter_;
};

Interpreter::Interpreter(ScopePtr globals, int64_t now_unix_s)
    : scope_(std::make_shared<Scope>(Scope{std::move(globals), {}})), now_unix_s_(now_unix_s) {}

Text Interpreter::run(const Body& body) {
  const Work work(kMaxSteps * kTicksAStep);
  run_body(body);
  return std::move(output_);
}

void Interpreter::spend(size_t n_steps) {
  count_work(std::min(n_steps, kMaxSteps + 1) * kTicksAStep);
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
  if (expr.kind == ExprKind::kBinary) {
    if (expr.name == "and") return truthy(left) ? evaluate(*expr.children[1]) : left;
    if (expr.name == "or") return truthy(left) ? left : evaluate(*expr.children[1]);
    return binary(expr.name, left, evaluate(*expr.children[1]));
  }
  if (expr.name == "not") return !truthy(left);
  if (!left.is_number()) {
    if (left.is_undefined()) undefined_error(left);
    fail(std::string("bad operand type for unary ") + expr.name + ": '" + type_name(left) + "'");
  }
  if (expr.name == "+") return left.is_bool() ? Value(left.as_int()) : left;
  return left.is_float() ? Value(-left.as_double()) : integer_arithmetic('-', 0, left.as_int());
}

Value Interpreter::binary(const std::string& op, const Value& left, const Value& right) {
  if (op == "~") {
    Text text = to_text(left);
    text.append(to_text(right));
    return text;
  }
  if (left.is_number() && right.is_number()) return arithmetic(op, left, right);
  if (op == "%" && left.is_string()) return percent_format(left.text(), right);
  if (op == "+" && left.is_string() && right.is_string()) {
    count_work(left.text().size());
    Text text = left.text();
    text.append(right.text());
    return text;
  }
  if (op == "+" && left.is_list() && right.is_list() && left.list()->is_tuple == right.list()->is_tuple) {
    spend(left.items().size() + right.items().size());
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return make_list(std::move(items), left.list()->is_tuple);
  }
  const bool is_whole = right.is_int() || right.is_bool();
  if (op == "*" && (left.is_string() || left.is_list()) && is_whole) return repeated(*this, left, right.as_int());
  if (op == "*" && (right.is_string() || right.is_list()) && left.is_int())
    return repeated(*this, right, left.as_int());
  unsupported_operands(op, left, right);
}

Value Interpreter::evaluate_compare(const Expr& expr) {
  Value left = evaluate(*expr.children[0]);
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    const std::string& op = expr.operators[i];
    Value right = evaluate(*expr.children[i + 1]);
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = equal(left, right) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = contains(right, left) == (op == "in");
    } else {
      if (left.is_undefined() || right.is_undefined()) unsupported_operands(op, left, right);
      const int order = compare(left, right);
      holds = op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
    }
    if (!holds) return false;
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
  if (object.is_undefined()) undefined_error(object);
  // As an item that is not there.
  if (!object.is_string() && !object.is_list()) return Undefined{std::string(type_name(object)) + " object's slice"};
  const auto bounds_in = [&](size_t n) {
    return slice_bounds(bounds[0], bounds[1], bounds[2], static_cast<int64_t>(n));
  };
  if (object.is_string()) {
    const auto offsets = char_offsets(object.str());
    return sliced(object.text(), offsets, bounds_in(offsets.size() - 1));
  }
  const SliceBounds b = bounds_in(object.items().size());
  std::vector<Value> items;
  for (int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop; i += b.step) {
    items.push_back(object.items()[static_cast<size_t>(i)]);
  }
  spend(items.size());
  return make_list(std::move(items), object.list()->is_tuple);
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
  if (callee.is_undefined()) undefined_error(callee);
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
  if (object.is_undefined()) undefined_error(object);
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
  if (object.is_undefined()) undefined_error(object);
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

Interpreter::Flow Interpreter::run_body(const Body& body) {
  for (const auto& stmt : body) {
    const Flow flow = run_statement(*stmt);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_scoped(const Body& body) {
  const ScopePtr outer = scope_;
  scope_ = std::make_shared<Scope>(Scope{outer, {}});
  const Flow flow = run_body(body);
  scope_ = outer;
  return flow;
}

Interpreter::Flow Interpreter::run_statement(const Stmt& stmt) {
  const Nested nested(*this);
  switch (stmt.kind) {
    case StmtKind::kData:
      print(stmt.text);
      break;
    case StmtKind::kOutput:
      print(to_text(evaluate(*stmt.expr)));
      break;
    case StmtKind::kIf:
      return run_body(truthy(evaluate(*stmt.expr)) ? stmt.body : stmt.orelse);
    case StmtKind::kFor:
      run_for(stmt);
      break;
    case StmtKind::kSet:
    case StmtKind::kSetBlock:
      run_set(stmt);
      break;
    case StmtKind::kMacro:
      scope_->variables.insert_or_assign(stmt.text.str(), make_macro(stmt, stmt.text.str()));
      break;
    case StmtKind::kCallBlock:
      run_call_block(stmt);
      break;
    case StmtKind::kFilterBlock: {
      Value outer = std::exchange(block_input_, captured(stmt.body));
      const Value result = evaluate(*stmt.expr);
      block_input_ = std::move(outer);
      print(to_text(result));
      break;
    }
    case StmtKind::kWith:
      run_with(stmt);
      break;
    case StmtKind::kScope:
      return run_scoped(stmt.body);
    case StmtKind::kDo:
      evaluate(*stmt.expr);
      break;
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

void Interpreter::run_for(const Stmt& stmt) {
  run_loop(stmt, evaluate(*stmt.expr), 0);
}

void Interpreter::run_loop(const Stmt& stmt, const Value& iterable, int depth) {
  const Nested nested(*this);
  const ScopePtr outer = scope_;
  std::vector<Value> items = iterate(iterable);
  spend(items.size());
  if (stmt.condition) {
    std::vector<Value> kept;
    for (Value& candidate : items) {
      scope_ = std::make_shared<Scope>(Scope{outer, {}});
      assign(*stmt.target, candidate);
      if (truthy(evaluate(*stmt.condition))) kept.push_back(std::move(candidate));
    }
    scope_ = outer;
    items = std::move(kept);
  }
  if (items.empty()) {
    run_scoped(stmt.orelse);
    return;
  }
  const auto n = static_cast<int64_t>(items.size());
  // One value is `loop` in all iterations: changed() remembers, and recursion calls it.
  auto attributes = std::make_shared<Dict>();
  const auto loop = std::make_shared<Callable>(Callable{"loop",
                                                        [this, &stmt, depth](Interpreter&, Args& args) -> Value {
                                                          if (!stmt.is_recursive) fail("the loop is not recursive");
                                                          Text before = std::exchange(output_, Text());
                                                          run_loop(stmt, required_arg(args, 0, "iterable"), depth + 1);
                                                          return std::exchange(output_, std::move(before));
                                                        },
                                                        attributes});
  attributes->set("cycle", make_function("cycle", [attributes = attributes.get()](Interpreter&, Args& args) -> Value {
                    if (args.positional.empty()) fail("no items for cycling given");
                    const auto i = static_cast<size_t>(attributes->find(std::string_view("index0"))->as_int());
                    return args.positional[i % args.positional.size()];
                  }));
  auto last = std::make_shared<Value>();
  attributes->set("changed", make_function("changed", [last](Interpreter&, Args& args) -> Value {
                    Value now = make_list(args.positional);
                    const bool is_new = !equal(*last, now);
                    *last = std::move(now);
                    return is_new;
                  }));
  attributes->set("length", n);
  attributes->set("depth", depth + 1);
  attributes->set("depth0", depth);
  for (int64_t i = 0; i < n; ++i) {
    scope_ = std::make_shared<Scope>(Scope{outer, {}});
    attributes->set("index", i + 1);
    attributes->set("index0", i);
    attributes->set("revindex", n - i);
    attributes->set("revindex0", n - i - 1);
    attributes->set("first", i == 0);
    attributes->set("last", i == n - 1);
    const auto at = static_cast<size_t>(i);
    attributes->set("previtem", i > 0 ? items[at - 1] : Value(Undefined{"there is no previous item"}));
    attributes->set("nextitem", i + 1 < n ? items[at + 1] : Value(Undefined{"there is no next item"}));
    scope_->variables.insert_or_assign("loop", loop);
    assign(*stmt.target, items[at]);
    if (run_body(stmt.body) == Flow::kBreak) break;
  }
  scope_ = outer;
}

void Interpreter::run_set(const Stmt& stmt) {
  if (stmt.kind == StmtKind::kSet) return assign(*stmt.target, evaluate(*stmt.expr));
  Value value = captured(stmt.body);
  if (stmt.expr) {
    Value outer = std::exchange(block_input_, std::move(value));
    value = evaluate(*stmt.expr);
    block_input_ = std::move(outer);
  }
  assign(*stmt.target, value);
}

void Interpreter::run_with(const Stmt& stmt) {
  const ScopePtr outer = scope_;
  const auto inner = std::make_shared<Scope>(Scope{outer, {}});
  for (const auto& [target, expr] : stmt.bindings) {
    Value value = evaluate(*expr);
    scope_ = inner;
    assign(*target, value);
    scope_ = outer;
  }
  scope_ = inner;
  run_body(stmt.body);
  scope_ = outer;
}

void Interpreter::run_call_block(const Stmt& stmt) {
  const Value callee = evaluate(*stmt.expr->children[0]);
  Args args = evaluate_args(stmt.expr->args);
  args.named.emplace_back("caller", make_macro(stmt, "caller"));
  print(to_text(call(callee, args)));
}

Value Interpreter::make_macro(const Stmt& stmt, std::string name) {
  // A macro sees the variables of the place where it stands. The scope must not own itself through it.
  const std::weak_ptr<Scope> closure = scope_;
  return make_function(std::move(name), [&stmt, closure](Interpreter& interpreter, Args& args) -> Value {
    ScopePtr scope = closure.lock();
    return interpreter.run_macro(stmt, scope ? scope : interpreter.scope_, args);
  });
}

Value Interpreter::run_macro(const Stmt& stmt, const ScopePtr& closure, Args& args) {
  const auto inner = std::make_shared<Scope>(Scope{closure, {}});
  const ScopePtr outer = std::exchange(scope_, inner);
  const Text outer_output = std::exchange(output_, Text());
  auto extra_named = std::make_shared<Dict>();
  std::vector<bool> is_used(args.named.size(), false);
  for (size_t i = 0; i < stmt.parameters.size(); ++i) {
    const Parameter& parameter = stmt.parameters[i];
    Value value = Undefined{parameter.name};
    if (i < args.positional.size()) {
      value = args.positional[i];
    } else {
      bool is_given = false;
      for (size_t k = 0; k < args.named.size(); ++k) {
        if (args.named[k].first != parameter.name) continue;
        value = args.named[k].second;
        is_given = is_used[k] = true;
      }
      if (!is_given && parameter.default_value) value = evaluate(*parameter.default_value);
    }
    inner->variables.insert_or_assign(parameter.name, std::move(value));
  }
  for (size_t k = 0; k < args.named.size(); ++k) {
    if (is_used[k]) continue;
    if (args.named[k].first == "caller")
      inner->variables.insert_or_assign("caller", args.named[k].second);
    else
      extra_named->set(args.named[k].first, args.named[k].second);
  }
  const size_t n_taken = std::min(stmt.parameters.size(), args.positional.size());
  inner->variables.insert_or_assign(
      "varargs",
      make_list({args.positional.begin() + static_cast<std::ptrdiff_t>(n_taken), args.positional.end()}, true));
  inner->variables.insert_or_assign("kwargs", Value(extra_named));
  run_body(stmt.body);
  scope_ = outer;
  return std::exchange(output_, outer_output);
}

void Interpreter::assign(const Expr& target, const Value& value) {
  if (target.kind == ExprKind::kName) {
    scope_->variables.insert_or_assign(target.name, value);
    return;
  }
  if (target.kind == ExprKind::kAttribute) {
    const Value object = evaluate(*target.children[0]);
    if (!object.is_dict() || !object.dict()->is_namespace) fail("cannot assign attribute on non-namespace object");
    return object.dict()->set(target.name, value);
  }
  const std::vector<Value> values = iterate(value);
  if (values.size() != target.children.size()) {
    fail("expected " + std::to_string(target.children.size()) + " values to unpack, actual " +
         std::to_string(values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) assign(*target.children[i], values[i]);
}

void add_globals(Scope& scope) {
  const auto add = [&scope](const char* name, Value (*function)(Interpreter&, Args&)) {
    scope.variables.insert_or_assign(name, make_function(name, function));
  };
  add("range", [](Interpreter& interpreter, Args& args) -> Value {
    const size_t n = args.positional.size();
    const int64_t start = n > 1 ? int_arg(args, 0, "start", 0) : 0;
    const Value& end = required_arg(args, n > 1 ? 1 : 0, "stop");
    if (!end.is_int() && !end.is_bool()) {
      fail(std::string("'") + type_name(end) + "' object cannot be interpreted as an integer");
    }
    const int64_t stop = end.as_int();
    const int64_t step = int_arg(args, 2, "step", 1);
    if (step == 0) fail("range() arg 3 must not be zero");
    // Jinja's sandbox has the same bound, MAX_RANGE.
    constexpr double kMaxRange = 100000;
    if ((static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step) > kMaxRange) {
      throw TemplateError{"range is larger than 100000", true};
    }
    std::vector<Value> items;
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) items.emplace_back(i);
    interpreter.spend(items.size());
    return make_list(std::move(items));
  });
  add("dict", [](Interpreter&, Args& args) -> Value {
    auto dict = std::make_shared<Dict>();
    if (!args.positional.empty() && args.positional[0].is_dict()) dict->items = args.positional[0].dict()->items;
    for (auto& [name, value] : args.named) dict->set(name, value);
    return dict;
  });
  add("namespace", [](Interpreter&, Args& args) -> Value {
    auto dict = std::make_shared<Dict>();
    dict->is_namespace = true;
    if (!args.positional.empty() && args.positional[0].is_dict()) dict->items = args.positional[0].dict()->items;
    for (auto& [name, value] : args.named) dict->set(name, value);
    return dict;
  });
  add("raise_exception",
      [](Interpreter&, Args& args) -> Value { fail(to_text(required_arg(args, 0, "message")).str()); });
  add("strftime_now", [](Interpreter& interpreter, Args& args) -> Value {
    return format_time(to_text(required_arg(args, 0, "format")).str(), interpreter.now_unix_s());
  });
  add("joiner", [](Interpreter&, Args& args) -> Value {
    const Value separator = args.get(0, "sep") ? *args.get(0, "sep") : Value(", ");
    auto is_used = std::make_shared<bool>(false);
    return make_function("joiner", [separator, is_used](Interpreter&, Args&) -> Value {
      return std::exchange(*is_used, true) ? separator : Value("");
    });
  });
  add("cycler", [](Interpreter&, Args& args) -> Value {
    if (args.positional.empty()) fail("at least one item has to be provided");
    auto at = std::make_shared<size_t>(0);
    auto dict = std::make_shared<Dict>();
    dict->is_namespace = true;
    dict->set("next", make_function("next", [items = args.positional, at](Interpreter&, Args&) -> Value {
                return items[std::exchange(*at, (*at + 1) % items.size())];
              }));
    dict->set("reset", make_function("reset", [at](Interpreter&, Args&) -> Value {
                *at = 0;
                return None{};
              }));
    return dict;
  });
}

}  // namespace realizar::text::jinja
