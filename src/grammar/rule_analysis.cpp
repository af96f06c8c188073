#include "grammar/rule_analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace realizar::grammar {
namespace {

Error error_of(const Rule& rule, const std::string& what) {
  const std::string place = rule.line == 0 ? "" : fmt::format("line {}, column {}: ", rule.line, rule.column);
  return invalid_argument(fmt::format("{}rule \"{}\" {}", place, rule.name, what), rule.name);
}

// Calls visit(expr) for every expression of a rule's body.
template <class Visit>
void for_each_expr(const RuleSet& rules, ExprId body, Visit visit) {
  std::vector<ExprId> open{body};
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    visit(id);
    for (const ExprId child : rules.exprs[id].children) open.push_back(child);
  }
}

using Graph = std::vector<std::vector<uint32_t>>;

// Strongly connected components (Tarjan 1972), with an explicit stack. Components are numbered callees first.
class Components {
 public:
  explicit Components(const Graph& graph) : graph_(graph), order_(graph.size(), 0), low_(graph.size(), 0) {
    component_.assign(graph.size(), kOpen);
    for (uint32_t node = 0; node < graph.size(); ++node) {
      if (order_[node] == 0) visit(node);
    }
  }
  const std::vector<uint32_t>& component() const { return component_; }

  // Nodes on a cycle.
  std::vector<bool> on_cycle() const {
    std::vector<uint32_t> size(graph_.size(), 0);
    for (const uint32_t c : component_) ++size[c];
    std::vector<bool> result(graph_.size());
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      const bool self = std::ranges::find(graph_[node], node) != graph_[node].end();
      result[node] = self || size[component_[node]] > 1;
    }
    return result;
  }

 private:
  static constexpr uint32_t kOpen = 0xFFFFFFFF;
  struct Visit {
    uint32_t node;
    size_t next_edge;
  };

  void enter(uint32_t node) {
    order_[node] = low_[node] = ++n_visited_;
    members_.push_back(node);
    visits_.push_back({node, 0});
  }

  void visit(uint32_t root) {
    enter(root);
    while (!visits_.empty()) {
      auto& [node, next_edge] = visits_.back();
      if (next_edge < graph_[node].size()) {
        const uint32_t other = graph_[node][next_edge++];
        if (order_[other] == 0) {
          enter(other);
        } else if (component_[other] == kOpen) {
          low_[node] = std::min(low_[node], order_[other]);
        }
        continue;
      }
      leave(node);
    }
  }

  void leave(uint32_t node) {
    visits_.pop_back();
    if (!visits_.empty()) low_[visits_.back().node] = std::min(low_[visits_.back().node], low_[node]);
    if (low_[node] != order_[node]) return;
    uint32_t member;
    do {
      member = members_.back();
      members_.pop_back();
      component_[member] = n_components_;
    } while (member != node);
    ++n_components_;
  }

  const Graph& graph_;
  std::vector<uint32_t> order_, low_, component_, members_;
  std::vector<Visit> visits_;
  uint32_t n_visited_ = 0, n_components_ = 0;
};

class Analyzer {
 public:
  Analyzer(const RuleSet& rules, const Deadline& deadline) : rules_(rules), deadline_(deadline) {}

  Result<RuleAnalysis> run() {
    for (const Rule& rule : rules_.rules) {
      if (rule.body == kNoExpr) return error_of(rule, "is used but not defined");
    }
    find_reachable();
    RZ_TRY(out_.expr_nullable, fixpoint([this](const Expr& e, const auto& known) { return is_nullable(e, known); }));
    RZ_TRY(const std::vector<bool> ends,
           fixpoint([this](const Expr& e, const auto& known) { return can_end(e, known); }));
    for (const RuleId id : reachable_) {
      if (!ends[rules_.rules[id].body]) return error_of(rules_.rules[id], "never ends: every way through it recurses");
    }
    RZ_CHECK_OK(refuse_left_recursion());
    find_uses();
    find_sizes();
    return std::move(out_);
  }

 private:
  void find_reachable() {
    uses_.resize(rules_.rules.size());
    std::vector<bool> seen(rules_.rules.size(), false);
    reachable_ = {rules_.root};
    seen[rules_.root] = true;
    for (size_t i = 0; i < reachable_.size(); ++i) {
      const RuleId user = reachable_[i];
      for_each_expr(rules_, rules_.rules[user].body, [&](ExprId id) {
        if (rules_.exprs[id].kind != ExprKind::kRule) return;
        const RuleId used = rules_.exprs[id].rule;
        uses_[user].push_back(used);
        if (seen[used]) return;
        seen[used] = true;
        reachable_.push_back(used);
      });
    }
  }

  // The states of a machine reachable by moves whose children satisfy `passes`.
  template <class Passes>
  static std::vector<bool> reached_states(const Expr& machine, Passes passes) {
    std::vector<uint32_t> open{0};
    std::vector<bool> reached(2, false);
    reached[0] = true;
    while (!open.empty()) {
      auto move = std::ranges::lower_bound(machine.moves, open.back(), {}, &Move::from);
      const uint32_t from = open.back();
      open.pop_back();
      for (; move != machine.moves.end() && move->from == from; ++move) {
        if (!passes(machine.children[static_cast<size_t>(move - machine.moves.begin())])) continue;
        if (reached.size() <= move->to) reached.resize(move->to + 1, false);
        if (!reached[move->to]) open.push_back(move->to);
        reached[move->to] = true;
      }
    }
    return reached;
  }

  bool is_nullable(const Expr& e, const std::vector<bool>& known) const {
    const auto child_is = [&](ExprId child) { return known[child]; };
    switch (e.kind) {
      case ExprKind::kLiteral:
        return e.bytes.empty();
      case ExprKind::kClass:
        return false;
      case ExprKind::kRule:
        return known[rules_.rules[e.rule].body];
      case ExprKind::kSequence:
        return std::ranges::all_of(e.children, child_is);
      case ExprKind::kChoice:
        return std::ranges::any_of(e.children, child_is);
      case ExprKind::kRepeat:
        return e.min == 0 || known[e.children[0]];
      case ExprKind::kMachine:
        return reached_states(e, child_is)[1];
    }
    return false;
  }

  bool can_end(const Expr& e, const std::vector<bool>& known) const {
    const auto child_is = [&](ExprId child) { return known[child]; };
    switch (e.kind) {
      case ExprKind::kLiteral:
      case ExprKind::kClass:
        return true;
      case ExprKind::kRule:
        return known[rules_.rules[e.rule].body];
      case ExprKind::kSequence:
        return std::ranges::all_of(e.children, child_is);
      case ExprKind::kChoice:
        return std::ranges::any_of(e.children, child_is);
      case ExprKind::kRepeat:
        return e.min == 0 || known[e.children[0]];
      case ExprKind::kMachine:
        return reached_states(e, child_is)[1];
    }
    return false;
  }

  // The least set of expressions that is closed under `holds`. Rules whose value changes re-evaluate the rules that use
  // them.
  template <class Holds>
  Result<std::vector<bool>> fixpoint(Holds holds) const {
    std::vector<bool> known(rules_.exprs.size(), false);
    Graph users(rules_.rules.size());
    for (const RuleId user : reachable_) {
      for (const RuleId used : uses_[user]) users[used].push_back(user);
    }
    std::vector<RuleId> open(reachable_.rbegin(), reachable_.rend());
    std::vector<ExprId> exprs;
    while (!open.empty()) {
      const RuleId id = open.back();
      open.pop_back();
      const ExprId body = rules_.rules[id].body;
      const bool before = known[body];
      exprs.clear();
      for_each_expr(rules_, body, [&](ExprId expr) { exprs.push_back(expr); });
      std::sort(exprs.begin(), exprs.end());  // children first
      for (const ExprId expr : exprs) known[expr] = known[expr] || holds(rules_.exprs[expr], known);
      if (known[body] != before) open.insert(open.end(), users[id].begin(), users[id].end());
      RZ_CHECK_OK(deadline_.check());
    }
    return known;
  }

  // Rules that may occur at the very beginning of a rule's text.
  void add_first_rules(ExprId body, std::vector<RuleId>& first) const {
    std::vector<ExprId> open{body};
    while (!open.empty()) {
      const Expr& e = rules_.exprs[open.back()];
      open.pop_back();
      if (e.kind == ExprKind::kRule) first.push_back(e.rule);
      if (e.kind == ExprKind::kMachine) {
        add_first_children(e, open);
        continue;
      }
      for (const ExprId child : e.children) {
        open.push_back(child);
        if (e.kind == ExprKind::kSequence && !out_.expr_nullable[child]) break;
      }
    }
  }

  void add_first_children(const Expr& machine, std::vector<ExprId>& open) const {
    const auto reached = reached_states(machine, [&](ExprId child) { return out_.expr_nullable[child]; });
    for (size_t i = 0; i < machine.moves.size(); ++i) {
      const uint32_t from = machine.moves[i].from;
      if (from < reached.size() && reached[from]) open.push_back(machine.children[i]);
    }
  }

  Status refuse_left_recursion() const {
    Graph first(rules_.rules.size());
    for (const RuleId id : reachable_) add_first_rules(rules_.rules[id].body, first[id]);
    const Components components(first);
    const std::vector<bool> on_cycle = components.on_cycle();
    for (const RuleId id : reachable_) {
      if (!on_cycle[id]) continue;
      std::string members;
      for (const RuleId other : reachable_) {
        if (other == id || components.component()[other] != components.component()[id]) continue;
        members += (members.empty() ? "" : ", ") + rules_.rules[other].name;
      }
      return error_of(rules_.rules[id], "is left-recursive" + (members.empty() ? "" : " (through " + members + ")") +
                                            "; write it with a repetition");
    }
    return {};
  }

  void find_uses() {
    out_.rule_n_uses.assign(rules_.rules.size(), 0);
    out_.rule_only_at_end.assign(rules_.rules.size(), true);
    for (const RuleId user : reachable_) {
      for (const RuleId used : uses_[user]) ++out_.rule_n_uses[used];
      mark_ends(rules_.rules[user].body);
    }
    out_.rule_recursive = Components(uses_).on_cycle();
  }

  void mark_ends(ExprId body) {
    struct Item {
      ExprId id;
      bool at_end;
    };
    std::vector<Item> open{{body, true}};
    while (!open.empty()) {
      const auto [id, at_end] = open.back();
      open.pop_back();
      const Expr& e = rules_.exprs[id];
      if (e.kind == ExprKind::kRule && !at_end) out_.rule_only_at_end[e.rule] = false;
      for (size_t i = 0; i < e.children.size(); ++i) {
        const bool last = e.kind != ExprKind::kMachine && (e.kind != ExprKind::kSequence || i + 1 == e.children.size());
        open.push_back({e.children[i], at_end && last && (e.kind != ExprKind::kRepeat || e.max == 1)});
      }
    }
  }

  void find_sizes() {
    out_.expr_size.assign(rules_.exprs.size(), 0);
    out_.rule_ends_chain.assign(rules_.rules.size(), false);
    // Components come callees first, so a rule's size is known before it is used, unless it is recursive.
    const Components components(uses_);
    std::vector<RuleId> order = reachable_;
    std::ranges::sort(order, {}, [&](RuleId id) { return components.component()[id]; });
    std::vector<ExprId> exprs;
    for (const RuleId id : order) {
      exprs.clear();
      for_each_expr(rules_, rules_.rules[id].body, [&](ExprId expr) { exprs.push_back(expr); });
      std::sort(exprs.begin(), exprs.end());
      for (const ExprId expr : exprs) out_.expr_size[expr] = size_of(rules_.exprs[expr]);
      out_.rule_ends_chain[id] = ends_chain(rules_.rules[id].body);
    }
  }

  bool ends_chain(ExprId body) const {
    std::vector<ExprId> open{body};
    while (!open.empty()) {
      const Expr& e = rules_.exprs[open.back()];
      open.pop_back();
      if (e.kind == ExprKind::kRule && out_.rule_only_at_end[e.rule] &&
          (out_.rule_n_uses[e.rule] == 2 || out_.rule_ends_chain[e.rule])) {
        return true;
      }
      if (e.kind == ExprKind::kChoice) open.insert(open.end(), e.children.begin(), e.children.end());
      if (e.kind == ExprKind::kSequence) open.push_back(e.children.back());
    }
    return false;
  }

  uint32_t size_of(const Expr& e) const {
    uint64_t size = 1;
    for (const ExprId child : e.children) size += out_.expr_size[child];
    if (e.kind == ExprKind::kLiteral) size += e.bytes.size();
    if (e.kind == ExprKind::kClass && !e.ranges.empty() && e.ranges.back().last > 0x7F) size += 6;
    if (e.kind == ExprKind::kRule)
      size += out_.rule_recursive[e.rule] ? kHuge : out_.expr_size[rules_.rules[e.rule].body];
    if (e.kind == ExprKind::kRepeat) size *= e.max == kUnbounded ? std::max(e.min, 1u) : e.max;
    return static_cast<uint32_t>(std::min<uint64_t>(size, kHuge));
  }

  const RuleSet& rules_;
  const Deadline& deadline_;
  RuleAnalysis out_;
  std::vector<RuleId> reachable_;
  Graph uses_;  // by rule, with repetition
};

}  // namespace

Result<RuleAnalysis> analyze_rules(const RuleSet& rules, const Deadline& deadline) {
  return Analyzer(rules, deadline).run();
}

}  // namespace realizar::grammar
