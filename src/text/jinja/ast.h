// The tree of a parsed template. Expressions and statements are single structs with a kind: few fields, no hierarchy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace realizar::text::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, double_star;  // *args, **kwargs
};

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcat,
  kAnd,
  kOr,
  kNot,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

enum class ExprKind : uint8_t {
  kLiteral,    // literal
  kName,       // name
  kList,       // children
  kTuple,      // children
  kDict,       // children: key, value, key, value ...
  kUnary,      // op: kAdd, kSubtract or kNot; children[0]
  kBinary,     // children[0] op children[1]
  kCompare,    // children[0], then one more for each of `operators`
  kCondition,  // children: then, condition, else (may be null)
  kAttribute,  // children[0].name
  kItem,       // children[0][children[1]]
  kSlice,      // children[0][children[1]:children[2]:children[3]]; the last three may be null
  kCall,       // children[0](args)
  kFilter,     // children[0] | name(args); children[0] null: the content of a filter block
  kTest,       // children[0] is name(args)
};

struct Expr {
  ExprKind kind;
  Operator op = Operator::kAdd;
  uint32_t line;
  int height = 1;  // of the subtree; bounded, since chains are as deep as they are long
  Value literal;
  std::string name;
  std::vector<ExprPtr> children;
  std::vector<Operator> operators;
  CallArgs args;
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Parameter {
  std::string name;
  ExprPtr default_value;  // null: none
};

enum class StmtKind : uint8_t {
  kData,         // text
  kOutput,       // expr
  kIf,           // expr, body, orelse
  kFor,          // target in expr [if condition], body, orelse; is_recursive
  kSet,          // target = expr
  kSetBlock,     // target = body, through the filter chain in expr (may be null)
  kMacro,        // text: its name; parameters, body
  kCallBlock,    // expr: the call; parameters, body
  kFilterBlock,  // expr: a filter chain; body
  kWith,         // bindings, body
  kScope,        // body alone (generation, autoescape)
  kDo,           // expr, whose value is dropped
  kBreak,
  kContinue,
};

struct Stmt {
  StmtKind kind;
  uint32_t line;
  Text text;
  ExprPtr expr, target, condition;
  Body body, orelse;
  std::vector<Parameter> parameters;
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings;
  bool is_recursive = false;
};

// Parses tokens to a tree, by recursive descent with Jinja's precedences. Throws TemplateError with the line.
Body parse(std::string_view source);

}  // namespace realizar::text::jinja
