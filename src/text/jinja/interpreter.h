// Walks the tree: evaluates expressions, runs statements, gathers output. One run of one template; bounded in steps,
// depth and output. Throws TemplateError.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace realizar::text::jinja {

// Variables of one nesting level; looked up outwards.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::map<std::string, Value, std::less<>> variables;

  const Value* find(std::string_view name) const;
};
using ScopePtr = std::shared_ptr<Scope>;

class Interpreter {
 public:
  Interpreter(ScopePtr globals, int64_t now_unix_s);

  Text run(const Body& body);

  int64_t now_unix_s() const { return now_unix_s_; }
  Value call(const Value& callee, Args& args);
  Value apply_filter(const std::string& name, const Value& input, Args& args);
  bool apply_test(const std::string& name, const Value& input, Args& args);
  // obj.name and obj[key], as Jinja's environment resolves them.
  Value attribute(const Value& object, const std::string& name);
  Value item(const Value& object, const Value& key);
  Value binary(const std::string& op, const Value& left, const Value& right);

  // Counts so many steps' work (work.h).
  void spend(size_t n_steps);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };
  class Nested;

  Value evaluate(const Expr& expr);
  Value evaluate_compare(const Expr& expr);
  Value evaluate_slice(const Expr& expr);
  Value evaluate_logic(const Expr& expr);
  Value evaluate_filter(const Expr& expr);
  Args evaluate_args(const CallArgs& args);

  Flow run_body(const Body& body);
  Flow run_scoped(const Body& body);
  Flow run_statement(const Stmt& stmt);
  void run_for(const Stmt& stmt);
  void run_loop(const Stmt& stmt, const Value& iterable, int depth);
  void run_set(const Stmt& stmt);
  void run_with(const Stmt& stmt);
  void run_call_block(const Stmt& stmt);
  Value make_macro(const Stmt& stmt, std::string name);
  Value run_macro(const Stmt& stmt, const ScopePtr& closure, Args& args);
  void assign(const Expr& target, const Value& value);
  // What `body` prints.
  Text captured(const Body& body);
  void print(const Text& text);

  ScopePtr scope_;
  Text output_;
  Value block_input_;  // what a filter block encloses
  int64_t now_unix_s_;
  size_t n_output_bytes_ = 0;
  int depth_ = 0;
};

// The functions that every template may call: range, dict, namespace, raise_exception, strftime_now ...
void add_globals(Scope& scope);

}  // namespace realizar::text::jinja
