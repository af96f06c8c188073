// The interpreter's statements.
#include <algorithm>
#include <optional>
#include <utility>

#include "text/jinja/builtins.h"

namespace realizar::text::jinja {
namespace {

// `at`: the loop's position, which a template may read after the loop.
Value make_cycle(const std::shared_ptr<size_t>& at) {
  return make_function("cycle", [at](Interpreter&, Args& args) -> Value {
    if (args.positional.empty()) fail("no items for cycling given");
    return args.positional[*at % args.positional.size()];
  });
}

Value make_changed() {
  auto last = std::make_shared<Value>();
  return make_function("changed", [last](Interpreter&, Args& args) -> Value {
    Value now = make_list(args.positional);
    const bool is_new = !equal(*last, now);
    *last = std::move(now);
    return is_new;
  });
}

void set_position(Dict& loop, const std::vector<Value>& items, size_t idx) {
  const auto n = static_cast<int64_t>(items.size()), i = static_cast<int64_t>(idx);
  loop.set("index", i + 1);
  loop.set("index0", i);
  loop.set("revindex", n - i);
  loop.set("revindex0", n - i - 1);
  loop.set("first", i == 0);
  loop.set("last", i == n - 1);
  loop.set("previtem", i > 0 ? items[idx - 1] : Value(Undefined{"there is no previous item"}));
  loop.set("nextitem", i + 1 < n ? items[idx + 1] : Value(Undefined{"there is no next item"}));
}

}  // namespace

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
      run_loop(stmt, evaluate(*stmt.expr), 0);
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

// The items that satisfy the loop's own condition.
std::vector<Value> Interpreter::chosen_items(const Stmt& stmt, std::vector<Value> items) {
  if (!stmt.condition) return items;
  const ScopePtr outer = scope_;
  std::vector<Value> chosen;
  for (Value& candidate : items) {
    scope_ = std::make_shared<Scope>(Scope{outer, {}});
    assign(*stmt.target, candidate);
    if (truthy(evaluate(*stmt.condition))) chosen.push_back(std::move(candidate));
  }
  scope_ = outer;
  return chosen;
}

// `loop`, shared by all iterations: changed() remembers, and recursion calls it.
Interpreter::Loop Interpreter::make_loop(const Stmt& stmt, int depth, size_t n_items) {
  auto attributes = std::make_shared<Dict>();
  const auto at = std::make_shared<size_t>(0);
  attributes->set("cycle", make_cycle(at));
  attributes->set("changed", make_changed());
  attributes->set("length", static_cast<int64_t>(n_items));
  attributes->set("depth", depth + 1);
  attributes->set("depth0", depth);
  const auto recurse = [this, &stmt, depth](Interpreter&, Args& args) -> Value {
    if (!stmt.is_recursive) fail("the loop is not recursive");
    Text before = std::exchange(output_, Text());
    run_loop(stmt, required_arg(args, 0, "iterable"), depth + 1);
    return std::exchange(output_, std::move(before));
  };
  return {std::make_shared<Callable>(Callable{"loop", recurse, attributes}), at};
}

void Interpreter::run_loop(const Stmt& stmt, const Value& iterable, int depth) {
  const Nested nested(*this);
  std::vector<Value> items = iterate(iterable);
  count_steps(items.size());
  items = chosen_items(stmt, std::move(items));
  if (items.empty()) {
    run_scoped(stmt.orelse);
    return;
  }
  const ScopePtr outer = scope_;
  const Loop loop = make_loop(stmt, depth, items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    scope_ = std::make_shared<Scope>(Scope{outer, {}});
    *loop.at = i;
    set_position(*loop.value->attributes, items, i);
    scope_->variables.insert_or_assign("loop", loop.value);
    assign(*stmt.target, items[i]);
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
  // A macro sees the variables of the scope where it is defined. The scope must not own itself through it.
  const std::weak_ptr<Scope> closure = scope_;
  return make_function(std::move(name), [&stmt, closure](Interpreter& interpreter, Args& args) -> Value {
    ScopePtr scope = closure.lock();
    return interpreter.run_macro(stmt, scope ? scope : interpreter.scope_, args);
  });
}

Value Interpreter::run_macro(const Stmt& stmt, const ScopePtr& closure, Args& args) {
  const ScopePtr outer = std::exchange(scope_, std::make_shared<Scope>(Scope{closure, {}}));
  const Text outer_output = std::exchange(output_, Text());
  bind_arguments(stmt, args);
  run_body(stmt.body);
  scope_ = outer;
  return std::exchange(output_, outer_output);
}

// The macro's parameters, and additional arguments: varargs, kwargs and caller.
void Interpreter::bind_arguments(const Stmt& stmt, const Args& args) {
  auto& variables = scope_->variables;
  std::vector<bool> is_used(args.named.size(), false);
  for (size_t i = 0; i < stmt.parameters.size(); ++i) {
    const Parameter& parameter = stmt.parameters[i];
    std::optional<Value> value;
    if (i < args.positional.size()) value = args.positional[i];
    for (size_t k = 0; i >= args.positional.size() && k < args.named.size(); ++k) {
      if (args.named[k].first != parameter.name) continue;
      value = args.named[k].second;
      is_used[k] = true;
    }
    if (!value && parameter.default_value) value = evaluate(*parameter.default_value);
    variables.insert_or_assign(parameter.name, value ? std::move(*value) : Value(Undefined{parameter.name}));
  }
  auto more_named = std::make_shared<Dict>();
  for (size_t k = 0; k < args.named.size(); ++k) {
    const auto& [name, value] = args.named[k];
    if (is_used[k]) continue;
    if (name == "caller") {
      variables.insert_or_assign("caller", value);
    } else {
      more_named->set(name, value);
    }
  }
  const auto n_taken = static_cast<std::ptrdiff_t>(std::min(stmt.parameters.size(), args.positional.size()));
  variables.insert_or_assign("varargs", make_list({args.positional.begin() + n_taken, args.positional.end()}, true));
  variables.insert_or_assign("kwargs", Value(more_named));
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

}  // namespace realizar::text::jinja
