// Walks the tree: evaluates expressions, runs statements, collects output. One run of one template; bounded in steps,
// depth and output. Throws TemplateError.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/text.h"
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
  // obj.name and obj[key], resolved like in Jinja's environment.
  Value attribute(const Value& object, const std::string& name);
  Value item(const Value& object, const Value& key);

 private:
  // The variable `loop`, and the index of the current item.
  struct Loop {
    std::shared_ptr<Callable> value;
    std::shared_ptr<size_t> at;
  };
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  // Counts nesting while it exists: no template overflows the stack.
  class Nested {
   public:
    explicit Nested(Interpreter& interpreter) : interpreter_(interpreter) {
      if (++interpreter_.depth_ > kMaxDepth) throw TemplateError{"the template nests too deep", true};
      count_steps(1);
    }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() { --interpreter_.depth_; }

   private:
    static constexpr int kMaxDepth = 1000;  // of calls, expressions and statements
    Interpreter& interpreter_;
  };

  Value evaluate(const Expr& expr);
  bool evaluate_compare(const Expr& expr);
  Value evaluate_slice(const Expr& expr);
  Value evaluate_logic(const Expr& expr);
  Value evaluate_filter(const Expr& expr);
  Args evaluate_args(const CallArgs& args);

  Flow run_body(const Body& body);
  Flow run_scoped(const Body& body);
  Flow run_statement(const Stmt& stmt);
  void run_loop(const Stmt& stmt, const Value& iterable, int depth);
  std::vector<Value> chosen_items(const Stmt& stmt, std::vector<Value> items);
  Loop make_loop(const Stmt& stmt, int depth, size_t n_items);
  void run_set(const Stmt& stmt);
  void run_with(const Stmt& stmt);
  void run_call_block(const Stmt& stmt);
  Value make_macro(const Stmt& stmt, std::string name);
  Value run_macro(const Stmt& stmt, const ScopePtr& closure, Args& args);
  void bind_arguments(const Stmt& stmt, const Args& args);
  void assign(const Expr& target, const Value& value);
  // The output of `body`.
  Text captured(const Body& body);
  void print(const Text& text);

  ScopePtr scope_;
  Text output_;
  Value block_input_;  // the content of the enclosing filter block
  int64_t now_unix_s_;
  size_t n_output_bytes_ = 0;
  int depth_ = 0;
};

// Functions available to every template: range, dict, namespace, raise_exception, strftime_now ...
void add_globals(Scope& scope);

}  // namespace realizar::text::jinja
