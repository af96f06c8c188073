#include "grammar/rule_pruning.h"

#include <algorithm>
#include <vector>

namespace realizar::grammar {
namespace {

// The states of a machine from which the end can be reached by moves whose children have texts.
std::vector<bool> live_states(const Expr& machine, const std::vector<bool>& has_texts) {
  uint32_t last = 1;
  for (const Move move : machine.moves) last = std::max({last, move.from, move.to});
  std::vector<std::vector<uint32_t>> before(last + 1);
  for (size_t i = 0; i < machine.moves.size(); ++i) {
    if (has_texts[machine.children[i]]) before[machine.moves[i].to].push_back(machine.moves[i].from);
  }
  std::vector<bool> live(last + 1, false);
  std::vector<uint32_t> open{1};
  live[1] = true;
  while (!open.empty()) {
    const uint32_t state = open.back();
    open.pop_back();
    for (const uint32_t from : before[state]) {
      if (!live[from]) open.push_back(from);
      live[from] = true;
    }
  }
  return live;
}

class Pruning {
 public:
  explicit Pruning(RuleSet& rules) : rules_(rules), has_texts_(rules.exprs.size(), false) {}

  bool run(RuleId root) {
    find_users();
    find_texts();
    if (!has_texts_[rules_.rules[root].body]) return false;
    for (ExprId id = 0; id < has_texts_.size(); ++id) {
      if (has_texts_[id]) drop_impossible(rules_.exprs[id]);
    }
    for (Rule& rule : rules_.rules) {
      if (rule.body == kNoExpr || has_texts_[rule.body]) continue;
      rule.body = static_cast<ExprId>(rules_.exprs.size());
      rules_.exprs.emplace_back();
      has_texts_.push_back(true);
    }
    return true;
  }

 private:
  void find_users() {
    users_.resize(rules_.exprs.size());
    n_missing_.resize(rules_.exprs.size(), 0);
    for (ExprId id = 0; id < rules_.exprs.size(); ++id) {
      const Expr& expr = rules_.exprs[id];
      for (const ExprId child : expr.children) users_[child].push_back(id);
      n_missing_[id] = expr.children.size();
      const ExprId body = expr.kind == ExprKind::kRule ? rules_.rules[expr.rule].body : kNoExpr;
      if (body != kNoExpr) users_[body].push_back(id);
      if (expr.kind == ExprKind::kMachine) machines_.push_back(id);
    }
  }

  // Computes the least closed set.
  void find_texts() {
    for (ExprId id = 0; id < rules_.exprs.size(); ++id) {
      if (is_known(rules_.exprs[id])) add(id);
    }
    bool is_complete = false;
    while (!is_complete) {
      spread();
      is_complete = std::ranges::none_of(machines_, [&](ExprId id) {
        const bool is_new = !has_texts_[id] && live_states(rules_.exprs[id], has_texts_)[0];
        if (is_new) add(id);
        return is_new;
      });
    }
  }

  bool is_known(const Expr& expr) const {
    if (expr.kind == ExprKind::kRule) return rules_.rules[expr.rule].body == kNoExpr;
    if (expr.kind == ExprKind::kRepeat) return expr.min == 0;
    return expr.children.empty() && expr.kind != ExprKind::kChoice && expr.kind != ExprKind::kMachine;
  }

  void add(ExprId id) {
    has_texts_[id] = true;
    open_.push_back(id);
  }

  void spread() {
    while (!open_.empty()) {
      const ExprId id = open_.back();
      open_.pop_back();
      for (const ExprId user : users_[id]) {
        if (has_texts_[user]) continue;
        const ExprKind kind = rules_.exprs[user].kind;
        const bool needs_all = kind == ExprKind::kSequence || kind == ExprKind::kMachine;
        if (!needs_all || --n_missing_[user] == 0) add(user);
      }
    }
  }

  void drop_impossible(Expr& expr) const {
    const auto is_impossible = [&](ExprId child) { return !has_texts_[child]; };
    if (std::ranges::none_of(expr.children, is_impossible)) return;
    if (expr.kind == ExprKind::kChoice) std::erase_if(expr.children, is_impossible);
    if (expr.kind == ExprKind::kRepeat) expr = Expr{};
    if (expr.kind != ExprKind::kMachine) return;
    const std::vector<bool> live = live_states(expr, has_texts_);
    Expr kept{.kind = ExprKind::kMachine};
    for (size_t i = 0; i < expr.moves.size(); ++i) {
      if (is_impossible(expr.children[i]) || !live[expr.moves[i].to]) continue;
      kept.moves.push_back(expr.moves[i]);
      kept.children.push_back(expr.children[i]);
    }
    expr = std::move(kept);
  }

  RuleSet& rules_;
  std::vector<bool> has_texts_;             // by expression
  std::vector<std::vector<ExprId>> users_;  // by expression
  std::vector<size_t> n_missing_;           // its children without texts, as far as known
  std::vector<ExprId> machines_, open_;
};

}  // namespace

bool remove_impossible(RuleSet& rules, RuleId root) {
  return Pruning(rules).run(root);
}

}  // namespace realizar::grammar
