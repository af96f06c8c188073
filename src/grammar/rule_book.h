// A grammar under construction: expressions, and rules with unique names, including the shared rules of JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/expression.h"
#include "grammar/rule_pruning.h"

namespace realizar::grammar {

inline constexpr uint64_t kNoMaximum = ~uint64_t{0};

// Code points that need no escape in a JSON string.
std::vector<CodeRange> plain_string_chars();
// The spelling of a code point in a JSON string: itself, or its shortest escape.
std::string json_char(uint32_t code);

class RuleBook {
 public:
  // Expressions. Each may be part of several others.
  ExprId literal(std::string_view bytes);
  // One code point; `ranges` is normalized and not empty.
  ExprId char_of(std::vector<CodeRange> ranges);
  // A nested sequence or choice is flattened. No parts: the empty text.
  ExprId sequence(std::span<const ExprId> parts);
  ExprId sequence(std::initializer_list<ExprId> parts) { return sequence(std::span(parts.begin(), parts.size())); }
  ExprId choice(std::span<const ExprId> options);
  // No text at all: remove_impossible() removes it.
  ExprId nothing() { return add_expr({.kind = ExprKind::kChoice}); }
  ExprId choice(std::initializer_list<ExprId> options) { return choice(std::span(options.begin(), options.size())); }
  // A `max` above 2,000,000,000 means no limit.
  ExprId repeat(ExprId item, uint64_t min, uint64_t max);
  ExprId optional(ExprId item) { return repeat(item, 0, 1); }
  // A finite automaton; see ExprKind::kMachine. `children` correspond to `moves`, which may be in any order.
  ExprId machine(std::span<const Move> moves, std::span<const ExprId> children);
  ExprId call(RuleId rule);
  // One of the program's own expressions, in GBNF; its names are those of shared rules.
  ExprId gbnf(std::string_view expression);
  // A character inside a JSON string, in any spelling.
  ExprId string_char();
  // One of these code points inside a JSON string, in the spelling of json_char; `ranges` is normalized and not empty.
  ExprId string_char_of(const std::vector<CodeRange>& ranges);

  const Expr& expr(ExprId id) const { return rules_.exprs[id]; }
  const Rule& rule(RuleId id) const { return rules_.rules[id]; }
  bool is_same(ExprId a, ExprId b) const;
  // The nesting depth of an expression.
  size_t depth_of(ExprId id) const;

  // A new rule, named after the letters and digits in `hint`.
  RuleId reserve(std::string_view hint);
  void define(RuleId rule, ExprId body) { rules_.rules[rule].body = body; }
  // A new rule with this body; returns a call of it.
  ExprId add(std::string_view hint, ExprId body);
  // The rule with exactly this name, which is undefined if it is new.
  RuleId named(std::string_view name);
  // A call of a general JSON rule ("ws", "string", "number", "value" ...), which is defined on first use.
  ExprId shared(std::string_view name);

  size_t n_exprs() const { return rules_.exprs.size(); }
  size_t n_rules() const { return rules_.rules.size(); }
  Rule& rule(RuleId id) { return rules_.rules[id]; }
  void add_left_out(std::string path) { rules_.left_out.push_back(std::move(path)); }
  // See rule_pruning.h.
  bool remove_impossible(RuleId root) { return grammar::remove_impossible(rules_, root); }
  // The grammar whose sentences are the root's; the book is empty afterwards.
  RuleSet take(RuleId root);

 private:
  ExprId add_expr(Expr expr);
  ExprId add_list(ExprKind kind, std::span<const ExprId> children);
  void define_shared_from(RuleId first);

  RuleSet rules_;
  std::unordered_map<std::string, RuleId> by_name_;  // rules that are looked up by name
  size_t n_reserved_ = 0;
};

}  // namespace realizar::grammar
