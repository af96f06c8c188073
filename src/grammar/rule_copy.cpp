#include "grammar/rule_copy.h"

#include <algorithm>
#include <vector>

#include "grammar/code_points.h"

namespace realizar::grammar {
namespace {

// The expressions and rules that the root reaches. Children have lower indices than their parents, so each rule takes
// one pass.
struct Reached {
  std::vector<bool> exprs, rules;
};

Reached reached_from_root(const RuleSet& rules) {
  Reached reached{std::vector<bool>(rules.exprs.size()), std::vector<bool>(rules.rules.size())};
  std::vector<ExprId> open{rules.rules[rules.root].body};
  reached.rules[rules.root] = true;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (id == kNoExpr || reached.exprs[id]) continue;
    reached.exprs[id] = true;
    const Expr& expr = rules.exprs[id];
    open.insert(open.end(), expr.children.begin(), expr.children.end());
    if (expr.kind != ExprKind::kRule || reached.rules[expr.rule]) continue;
    reached.rules[expr.rule] = true;
    open.push_back(rules.rules[expr.rule].body);
  }
  return reached;
}

std::string json_spelling(std::string_view text) {
  std::string spelled;
  for (size_t i = 0; i < text.size();) {
    const uint32_t code = read_utf8(text, i);
    if (code != kBadCodePoint) spelled += json_char(code);
  }
  return spelled;
}

class RuleCopy {
 public:
  RuleCopy(RuleBook& book, const RuleSet& rules, bool is_json) : book_(book), rules_(rules), is_json_(is_json) {}

  ExprId run() {
    const Reached reached = reached_from_root(rules_);
    for (size_t i = 0; i < rules_.rules.size(); ++i) {
      new_rules_.push_back(reached.rules[i] ? book_.reserve(rules_.rules[i].name) : 0);
    }
    for (size_t i = 0; i < rules_.exprs.size(); ++i) {
      exprs_.push_back(reached.exprs[i] ? copied(rules_.exprs[i]) : kNoExpr);
    }
    for (size_t i = 0; i < rules_.rules.size(); ++i) {
      const ExprId body = rules_.rules[i].body;
      if (reached.rules[i] && body != kNoExpr) book_.define(new_rules_[i], exprs_[body]);
    }
    return book_.call(new_rules_[rules_.root]);
  }

 private:
  ExprId copied(const Expr& expr) {
    std::vector<ExprId> children;
    for (const ExprId child : expr.children) children.push_back(exprs_[child]);
    switch (expr.kind) {
      case ExprKind::kLiteral:
        return book_.literal(is_json_ ? json_spelling(expr.bytes) : expr.bytes);
      case ExprKind::kClass:
        return is_json_ ? book_.string_char_of(expr.ranges) : book_.char_of(expr.ranges);
      case ExprKind::kRule:
        return book_.call(new_rules_[expr.rule]);
      case ExprKind::kSequence:
        return book_.sequence(children);
      case ExprKind::kChoice:
        return book_.choice(children);
      case ExprKind::kRepeat:
        return book_.repeat(children[0], expr.min, expr.max == kUnbounded ? kNoMaximum : expr.max);
      case ExprKind::kMachine:
        return book_.machine(expr.moves, children);
    }
    return book_.literal("");
  }

  RuleBook& book_;
  const RuleSet& rules_;
  const bool is_json_;
  std::vector<RuleId> new_rules_;
  std::vector<ExprId> exprs_;
};

}  // namespace

ExprId copy_rules(RuleBook& book, const RuleSet& rules, bool is_json) {
  return RuleCopy(book, rules, is_json).run();
}

}  // namespace realizar::grammar
