#include "grammar/automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/try.h"
#include "grammar/code_points.h"

namespace realizar::grammar {
namespace {

// A rule that is used once, or is at most this large, is inlined; likewise for a repetition.
constexpr uint32_t kMaxInlineRule = 12, kMaxInlineRepeat = 80;
constexpr int kMaxInlineDepth = 120;  // nesting depth of expressions

// Includes empty moves, before they are eliminated.
struct Node {
  std::vector<uint32_t> empty;
  std::vector<ByteEdge> bytes;
  std::vector<CallEdge> calls;
};

// Thompson's construction (1968), callee by callee.
class Builder {
 public:
  Builder(const RuleSet& rules, const RuleAnalysis& analysis, const Limits& limits, const Deadline& deadline)
      : rules_(rules), analysis_(analysis), limits_(limits), deadline_(deadline) {}

  Result<Automaton> run() {
    const CalleeId root = callee_of_rule(rules_.root);
    for (CalleeId id = 0; id < bodies_.size(); ++id) {
      RZ_CHECK_OK(build_callee(id));
    }
    RZ_CHECK_OK(eliminate_empty_moves());
    RZ_CHECK_OK(sort_callees());
    out_.root = new_id_[root];
    out_.root_nullable = analysis_.expr_nullable[rules_.rules[rules_.root].body];
    find_byte_classes();
    return std::move(out_);
  }

 private:
  struct Body {
    ExprId expr;
    uint32_t start, end;  // nodes
    uint32_t min, max;
  };

  CalleeId add_callee(ExprId expr, uint32_t min, uint32_t max) {
    bodies_.push_back({expr, node(), node(), min, max});
    return static_cast<CalleeId>(bodies_.size() - 1);
  }
  CalleeId callee_of_rule(RuleId rule) {
    const auto [found, is_new] = rule_callees_.try_emplace(rule, 0);
    if (is_new) found->second = add_callee(rules_.rules[rule].body, 1, 1);
    return found->second;
  }
  CalleeId callee_of_repeat(ExprId repeat) {
    const auto [found, is_new] = repeat_callees_.try_emplace(repeat, 0);
    if (!is_new) return found->second;
    const Expr& e = rules_.exprs[repeat];
    const uint32_t min = analysis_.expr_nullable[e.children[0]] ? 0 : e.min;
    found->second = add_callee(e.children[0], min, e.max);
    return found->second;
  }

  uint32_t node() {
    nodes_.emplace_back();
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  Status check_size() {
    if (nodes_.size() > 4 * limits_.max_states) {
      return limit_exceeded(fmt::format("the grammar needs more than {} states", limits_.max_states));
    }
    return ++n_checks_ % 256 == 0 ? deadline_.check() : Status();
  }

  Status build_callee(CalleeId id) {
    callee_ = id;
    jumps_.clear();
    const auto [expr, start, end, min, max] = bodies_[id];
    const uint32_t after_start = node();
    nodes_[start].empty.push_back(after_start);
    open_ = {{expr, after_start}};
    while (!open_.empty()) {
      const auto [body, from] = open_.back();
      open_.pop_back();
      RZ_CHECK_OK(build(body, from, end, 0));
    }
    return {};
  }

  // Adds paths for the expression's texts between `from` and `to`. Adds no edge into `from`, unless they are the same.
  Status build(ExprId id, uint32_t from, uint32_t to, int depth) {
    RZ_CHECK_OK(check_size());
    const Expr& e = rules_.exprs[id];
    switch (e.kind) {
      case ExprKind::kLiteral:
        return build_literal(e, from, to);
      case ExprKind::kClass:
        return build_class(e, from, to);
      case ExprKind::kRule:
        return build_rule(e, from, to, depth);
      case ExprKind::kSequence:
        for (size_t i = 0; i < e.children.size(); ++i) {
          const uint32_t next = i + 1 == e.children.size() ? to : node();
          RZ_CHECK_OK(build(e.children[i], from, next, depth + 1));
          from = next;
        }
        return {};
      case ExprKind::kChoice:
        for (const ExprId child : e.children) {
          RZ_CHECK_OK(build(child, from, to, depth + 1));
        }
        return {};
      case ExprKind::kRepeat:
        return build_repeat(id, from, to, depth);
      case ExprKind::kMachine:
        return build_machine(e, from, to, depth);
    }
    return {};
  }

  Status build_machine(const Expr& e, uint32_t from, uint32_t to, int depth) {
    std::vector<uint32_t> node_of{node(), to};  // by state
    nodes_[from].empty.push_back(node_of[0]);
    for (size_t i = 0; i < e.moves.size(); ++i) {
      const Move move = e.moves[i];
      while (node_of.size() <= std::max(move.from, move.to)) node_of.push_back(node());
      RZ_CHECK_OK(build(e.children[i], node_of[move.from], node_of[move.to], depth + 1));
    }
    return {};
  }

  Status build_literal(const Expr& e, uint32_t from, uint32_t to) {
    if (e.bytes.empty()) nodes_[from].empty.push_back(to);
    for (size_t i = 0; i < e.bytes.size(); ++i) {
      const uint32_t next = i + 1 == e.bytes.size() ? to : node();
      const auto byte = static_cast<uint8_t>(e.bytes[i]);
      nodes_[from].bytes.push_back({byte, byte, next});
      from = next;
    }
    return check_size();
  }

  // Builds UTF-8 blocks from their last byte backwards, so that blocks with the same ending share its states.
  Status build_class(const Expr& e, uint32_t from, uint32_t to) {
    std::vector<Utf8Block> blocks;
    for (const CodeRange range : e.ranges) append_utf8_blocks(range, blocks);
    std::map<std::tuple<uint8_t, uint8_t, uint32_t>, uint32_t> endings;
    for (const Utf8Block& block : blocks) {
      uint32_t next = to;
      for (uint32_t i = block.n_bytes - 1; i > 0; --i) {
        const auto [found, is_new] = endings.try_emplace({block.bytes[i].first, block.bytes[i].last, next}, 0);
        if (is_new) {
          found->second = node();
          nodes_[found->second].bytes.push_back({block.bytes[i].first, block.bytes[i].last, next});
        }
        next = found->second;
      }
      nodes_[from].bytes.push_back({block.bytes[0].first, block.bytes[0].last, next});
    }
    return check_size();
  }

  Status build_rule(const Expr& e, uint32_t from, uint32_t to, int depth) {
    const ExprId body = rules_.rules[e.rule].body;
    const uint32_t n_uses = analysis_.rule_n_uses[e.rule];
    const bool at_end = to == bodies_[callee_].end;
    const bool small = n_uses == 1 || analysis_.expr_size[body] <= kMaxInlineRule;
    const bool may_inline = !analysis_.rule_recursive[e.rule] && (at_end || !analysis_.rule_ends_chain[e.rule]);
    if (small && may_inline && depth < kMaxInlineDepth) return build(body, from, to, depth + 1);
    // A rule that is only used at the end of others continues in its caller's automaton: chains and loops of such rules
    // are regular.
    if (at_end && analysis_.rule_only_at_end[e.rule] && n_uses <= 2) {
      const auto [found, is_new] = jumps_.try_emplace(e.rule, 0);
      if (is_new) {
        found->second = node();
        open_.push_back({body, found->second});
      }
      nodes_[from].empty.push_back(found->second);
      return {};
    }
    add_call(callee_of_rule(e.rule), from, to, analysis_.expr_nullable[body]);
    return {};
  }

  void add_call(CalleeId callee, uint32_t from, uint32_t to, bool nullable) {
    nodes_[from].calls.push_back({callee, to});
    if (nullable) nodes_[from].empty.push_back(to);
  }

  Status build_repeat(ExprId id, uint32_t from, uint32_t to, int depth) {
    const Expr& e = rules_.exprs[id];
    const ExprId child = e.children[0];
    const bool plain = e.max == 1 || (e.max == kUnbounded && e.min <= 1);
    if (e.max == 0) {
      nodes_[from].empty.push_back(to);
      return {};
    }
    if (!plain && analysis_.expr_size[id] > kMaxInlineRepeat) {
      add_call(callee_of_repeat(id), from, to, analysis_.expr_nullable[id]);
      return {};
    }
    for (uint32_t i = 0; i < e.min; ++i) {
      const bool last = i + 1 == e.min && e.max == e.min;
      const uint32_t next = last ? to : node();
      RZ_CHECK_OK(build(child, from, next, depth + 1));
      from = next;
    }
    if (e.max == e.min) return {};
    if (e.max == kUnbounded) return build_loop(child, from, to, depth);
    for (uint32_t i = e.min; i < e.max; ++i) {
      nodes_[from].empty.push_back(to);
      const uint32_t next = i + 1 == e.max ? to : node();
      RZ_CHECK_OK(build(child, from, next, depth + 1));
      from = next;
    }
    return {};
  }

  Status build_loop(ExprId child, uint32_t from, uint32_t to, int depth) {
    const uint32_t loop = node();
    nodes_[from].empty.push_back(loop);
    nodes_[loop].empty.push_back(to);
    return build(child, loop, loop, depth + 1);
  }

  // Keeps the nodes that an edge leads to, each with the edges of all nodes that it reaches by empty moves.
  Status eliminate_empty_moves() {
    state_of_.assign(nodes_.size(), kNone);
    for (CalleeId id = 0; id < bodies_.size(); ++id) {
      open_states_.clear();
      bodies_[id].start = state_of(bodies_[id].start);
      const uint32_t end = bodies_[id].end;
      for (size_t i = 0; i < open_states_.size(); ++i) {
        RZ_CHECK_OK(add_state(open_states_[i], id, end));
      }
    }
    return {};
  }

  StateId state_of(uint32_t node_id) {
    if (state_of_[node_id] == kNone) {
      state_of_[node_id] = n_states_++;
      open_states_.push_back(node_id);
    }
    return state_of_[node_id];
  }

  Status add_state(uint32_t node_id, CalleeId owner, uint32_t end) {
    State state;
    state.owner = owner;
    state.bytes_begin = static_cast<uint32_t>(out_.byte_edges.size());
    state.calls_begin = static_cast<uint32_t>(out_.call_edges.size());
    std::vector<uint32_t> reached{node_id};
    visited_.resize(nodes_.size(), kNone);
    for (size_t i = 0; i < reached.size(); ++i) {
      const Node& n = nodes_[reached[i]];
      // The start of a callee never accepts: its caller handles the empty text.
      if (reached[i] == end && state_of_[node_id] != bodies_[owner].start) state.accepting = true;
      for (const ByteEdge& edge : n.bytes) out_.byte_edges.push_back({edge.first, edge.last, state_of(edge.target)});
      for (const CallEdge& edge : n.calls) out_.call_edges.push_back({edge.callee, state_of(edge.target)});
      for (const uint32_t next : n.empty) {
        if (visited_[next] == node_id) continue;
        visited_[next] = node_id;
        if (next != node_id) reached.push_back(next);
      }
    }
    sort_unique(out_.byte_edges, state.bytes_begin);
    sort_unique(out_.call_edges, state.calls_begin);
    state.bytes_end = static_cast<uint32_t>(out_.byte_edges.size());
    state.calls_end = static_cast<uint32_t>(out_.call_edges.size());
    out_.states.push_back(state);
    if (out_.states.size() > limits_.max_states ||
        out_.byte_edges.size() + out_.call_edges.size() > 8 * limits_.max_states) {
      return limit_exceeded(fmt::format("the grammar needs more than {} states", limits_.max_states));
    }
    return out_.states.size() % 64 == 0 ? deadline_.check() : Status();
  }

  template <class T>
  static void sort_unique(std::vector<T>& edges, size_t begin) {
    const auto first = edges.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, edges.end());
    edges.erase(std::unique(first, edges.end()), edges.end());
  }

  // Numbers the callees so that a callee's first calls go to higher numbers (Kahn 1962).
  Status sort_callees() {
    const auto first_calls = [&](CalleeId id) { return out_.calls_of(out_.states[bodies_[id].start]); };
    std::vector<uint32_t> n_callers(bodies_.size(), 0);
    for (CalleeId id = 0; id < bodies_.size(); ++id) {
      for (const CallEdge& call : first_calls(id)) ++n_callers[call.callee];
    }
    std::vector<CalleeId> order;
    for (CalleeId id = 0; id < bodies_.size(); ++id) {
      if (n_callers[id] == 0) order.push_back(id);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (const CallEdge& call : first_calls(order[i])) {
        if (--n_callers[call.callee] == 0) order.push_back(call.callee);
      }
    }
    if (order.size() != bodies_.size()) {
      return Error{ErrorCode::kInternal, "the grammar is left-recursive after its analysis", "grammar"};
    }
    new_id_.resize(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      new_id_[order[i]] = i;
      const Body& body = bodies_[order[i]];
      out_.callees.push_back({body.start, body.min, body.max});
      out_.has_counts = out_.has_counts || body.max != 1;
    }
    for (State& state : out_.states) state.owner = new_id_[state.owner];
    for (CallEdge& edge : out_.call_edges) edge.callee = new_id_[edge.callee];
    return {};
  }

  void find_byte_classes() {
    std::array<bool, 257> begins = {};
    for (const ByteEdge& edge : out_.byte_edges) {
      begins[edge.first] = true;
      begins[edge.last + 1] = true;
    }
    uint32_t current = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (byte > 0 && begins[byte]) ++current;
      out_.byte_class[byte] = static_cast<uint8_t>(current);
    }
    out_.n_byte_classes = current + 1;
  }

  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct OpenBody {
    ExprId expr;
    uint32_t from;
  };

  const RuleSet& rules_;
  const RuleAnalysis& analysis_;
  const Limits& limits_;
  const Deadline& deadline_;
  std::vector<Node> nodes_;
  std::vector<Body> bodies_;  // by callee, in the order of their first calls
  std::unordered_map<RuleId, CalleeId> rule_callees_;
  std::unordered_map<ExprId, CalleeId> repeat_callees_;
  CalleeId callee_ = 0;                         // being built
  std::unordered_map<RuleId, uint32_t> jumps_;  // rules that continue in it, with their first node
  std::vector<OpenBody> open_;
  uint32_t n_checks_ = 0, n_states_ = 0;
  std::vector<uint32_t> state_of_, visited_, open_states_;
  std::vector<CalleeId> new_id_;
  Automaton out_;
};

}  // namespace

Result<Automaton> build_automaton(const RuleSet& rules, const RuleAnalysis& analysis, const Limits& limits,
                                  const Deadline& deadline) {
  return Builder(rules, analysis, limits, deadline).run();
}

}  // namespace realizar::grammar
