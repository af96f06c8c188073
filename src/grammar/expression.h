// A grammar as its author wrote it: rules whose bodies are expressions over Unicode code points and rules. Plain data;
// an expression's children always have lower indices, so that a pass in index order sees them first. An expression may
// be a child of several.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace realizar::grammar {

using ExprId = uint32_t;
using RuleId = uint32_t;

inline constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();
inline constexpr ExprId kNoExpr = std::numeric_limits<uint32_t>::max();

// Code points first..last, inclusive.
struct CodeRange {
  uint32_t first = 0, last = 0;
  bool operator==(const CodeRange&) const = default;
};

enum class ExprKind : uint8_t {
  kLiteral,   // `bytes`, possibly empty
  kClass,     // one code point in `ranges`
  kRule,      // `rule`
  kSequence,  // all `children` in order
  kChoice,    // one of `children`
  kRepeat,    // children[0], min to max times; max may be kUnbounded
  kMachine,   // a path from state 0 to state 1 of a finite automaton by `moves`, each of which reads its child
};

// From one state of a machine to another; none leaves state 1.
struct Move {
  uint32_t from = 0, to = 0;
  bool operator==(const Move&) const = default;
};

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  std::string bytes = {};
  std::vector<CodeRange> ranges = {};  // sorted and disjoint, without surrogates
  RuleId rule = 0;
  uint32_t min = 0, max = 0;
  std::vector<ExprId> children = {};
  std::vector<Move> moves = {};  // one for each child, in the order of `from`
};

struct Rule {
  std::string name = {};
  ExprId body = kNoExpr;          // kNoExpr: used, but never defined
  uint32_t line = 0, column = 0;  // of the definition, or of the first use; from 1; 0: not from text
};

struct RuleSet {
  std::vector<Expr> exprs;
  std::vector<Rule> rules;
  RuleId root = 0;
  // Locations of keywords in relaxed schemas that the rules do not enforce: "#/properties/a/not".
  std::vector<std::string> left_out = {};
};

}  // namespace realizar::grammar
