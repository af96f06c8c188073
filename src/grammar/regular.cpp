#include "grammar/regular.h"

#include <algorithm>

#include "base/check.h"
#include "grammar/code_points.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxWork = 3'000'000;  // about a second
constexpr size_t kMaxMachineStates = 20'000;
constexpr uint32_t kMaxTermDepth = 1'000;  // nesting of terms
constexpr size_t kMaxExprDepth = 500;

// States from which an accepting state can be reached.
std::vector<bool> live_states(const TextMachine& machine) {
  std::vector<std::vector<uint32_t>> before(machine.states.size());
  std::vector<bool> live(machine.states.size(), false);
  std::vector<uint32_t> open;
  for (uint32_t id = 0; id < machine.states.size(); ++id) {
    for (const auto& edge : machine.states[id].edges) before[edge.to].push_back(id);
    live[id] = machine.states[id].accepting;
    if (live[id]) open.push_back(id);
  }
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    for (const uint32_t from : before[id]) {
      if (!live[from]) open.push_back(from);
      live[from] = true;
    }
  }
  return live;
}

TextMachine trimmed(const TextMachine& machine) {
  const std::vector<bool> live = live_states(machine);
  TextMachine out;
  if (!live[0]) return out;
  std::vector<uint32_t> new_id(live.size(), 0);
  uint32_t n_live = 0;
  for (uint32_t id = 0; id < live.size(); ++id) {
    if (live[id]) new_id[id] = n_live++;
  }
  for (uint32_t id = 0; id < live.size(); ++id) {
    if (!live[id]) continue;
    TextMachine::State state{machine.states[id].accepting, {}};
    for (const auto& edge : machine.states[id].edges) {
      if (live[edge.to]) state.edges.push_back({edge.ranges, new_id[edge.to]});
    }
    out.states.push_back(std::move(state));
  }
  return out;
}

}  // namespace

Terms::Terms() : work_left_(kMaxWork) {
  intern({Kind::kNone});
  intern({Kind::kEmpty});
  intern({.kind = Kind::kComplement, .children = {none()}});
}

// False, from then on, when the limits are reached.
bool Terms::spend(size_t work) {
  too_large_ = too_large_ || work > work_left_;
  if (!too_large_) work_left_ -= work;
  return !too_large_;
}

TermId Terms::intern(Node node) {
  if (!spend(1 + node.children.size() + node.ranges.size())) return none();
  Key key{static_cast<uint8_t>(node.kind), node.first, node.second, {}, node.children};
  for (const CodeRange range : node.ranges) std::get<3>(key).emplace_back(range.first, range.last);
  const auto [found, is_new] = ids_.try_emplace(std::move(key), static_cast<TermId>(nodes_.size()));
  if (!is_new) return found->second;
  uint32_t depth = 0;
  for (const TermId child : node.children) depth = std::max(depth, depth_[child]);
  too_large_ = too_large_ || depth + 1 > kMaxTermDepth;
  nodes_.push_back(std::move(node));
  depth_.push_back(depth + 1);
  nullable_.push_back(-1);
  return found->second;
}

TermId Terms::chars(CodeRanges ranges) {
  return ranges.empty() ? none() : intern({.kind = Kind::kChars, .ranges = std::move(ranges)});
}

TermId Terms::literal(std::string_view utf8) {
  std::vector<uint32_t> codes;
  for (size_t at = 0; at < utf8.size();) codes.push_back(read_utf8(utf8, at));
  TermId all = empty();
  for (size_t i = codes.size(); i-- > 0;) all = sequence(chars({{codes[i], codes[i]}}), all);
  return all;
}

TermId Terms::sequence(TermId a, TermId b) {
  if (a == none() || b == none()) return none();
  if (a == empty()) return b;
  if (b == empty()) return a;
  if (nodes_[a].kind == Kind::kSequence) {
    const TermId head = nodes_[a].children[0], tail = nodes_[a].children[1];
    if (!spend(1)) return none();
    return sequence(head, sequence(tail, b));
  }
  if (b == everything() && is_nullable(a)) return b;
  return intern({.kind = Kind::kSequence, .children = {a, b}});
}

std::vector<TermId> Terms::flattened(Kind kind, const std::vector<TermId>& terms) const {
  std::vector<TermId> out;
  for (const TermId term : terms) {
    if (nodes_[term].kind == kind) {
      out.insert(out.end(), nodes_[term].children.begin(), nodes_[term].children.end());
    } else {
      out.push_back(term);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Replaces all classes among the terms by one: of the code points in any of them, or in all.
void Terms::join_chars(std::vector<TermId>& terms, bool is_any) {
  const auto is_chars = [&](TermId term) { return nodes_[term].kind == Kind::kChars; };
  if (std::ranges::count_if(terms, is_chars) < 2) return;
  std::optional<CodeRanges> joined;
  for (const TermId term : terms) {
    if (!is_chars(term)) continue;
    const CodeRanges& own = nodes_[term].ranges;
    if (!joined) {
      joined = own;
    } else if (is_any) {
      joined->insert(joined->end(), own.begin(), own.end());
    } else {
      joined = intersection(*joined, own);
    }
  }
  std::erase_if(terms, is_chars);
  terms.push_back(chars(normalized(std::move(*joined))));
  std::sort(terms.begin(), terms.end());
}

TermId Terms::any_of(std::vector<TermId> options) {
  options = flattened(Kind::kAnyOf, options);
  join_chars(options, true);
  std::erase(options, none());
  if (std::ranges::binary_search(options, everything())) return everything();
  if (options.empty()) return none();
  return options.size() == 1 ? options[0] : intern({.kind = Kind::kAnyOf, .children = std::move(options)});
}

TermId Terms::all_of(std::vector<TermId> parts) {
  parts = flattened(Kind::kAllOf, parts);
  join_chars(parts, false);
  std::erase(parts, everything());
  if (std::ranges::binary_search(parts, none())) return none();
  if (parts.empty()) return everything();
  return parts.size() == 1 ? parts[0] : intern({.kind = Kind::kAllOf, .children = std::move(parts)});
}

TermId Terms::complement(TermId a) {
  if (nodes_[a].kind == Kind::kComplement) return nodes_[a].children[0];
  return intern({.kind = Kind::kComplement, .children = {a}});
}

TermId Terms::repeat(TermId item, uint64_t min, uint64_t max) {
  if (max == 0 || item == empty()) return empty();
  if (item == none()) return min == 0 ? empty() : none();
  if (min == 1 && max == 1) return item;
  if (is_nullable(item)) min = 0;
  const CodeRanges all = normalized({{0, kMaxCodePoint}});
  if (min == 0 && max == kNoMaximum && nodes_[item].kind == Kind::kChars && nodes_[item].ranges == all) {
    return everything();
  }
  return intern({.kind = Kind::kRepeat, .first = min, .second = max, .children = {item}});
}

TermId Terms::machine(const TextMachine& machine) {
  const uint64_t number = machines_.size();
  machines_.push_back(machine);
  machine_starts_.push_back(static_cast<TermId>(nodes_.size()));
  if (machine.states.empty()) return none();
  for (uint64_t state = 0; state < machine.states.size(); ++state) {
    intern({.kind = Kind::kState, .first = number, .second = state});
  }
  return too_large_ ? none() : machine_starts_[number];
}

TermId Terms::variable() {
  definitions_.push_back(none());
  return intern({.kind = Kind::kVariable, .first = definitions_.size() - 1});
}

TermId Terms::of_expr(const RuleBook& book, ExprId id) {
  too_large_ = too_large_ || book.depth_of(id) > kMaxExprDepth;
  return too_large_ ? none() : translated(book, id);
}

TermId Terms::translated(const RuleBook& book, ExprId id) {
  const Expr& e = book.expr(id);
  std::vector<TermId> parts;
  switch (e.kind) {
    case ExprKind::kLiteral:
      return literal(e.bytes);
    case ExprKind::kClass:
      return chars(e.ranges);
    case ExprKind::kRule:
      return translated(book, book.rule(e.rule).body);
    case ExprKind::kSequence: {
      TermId all = empty();
      for (size_t i = e.children.size(); i-- > 0;) all = sequence(translated(book, e.children[i]), all);
      return all;
    }
    case ExprKind::kChoice:
      for (const ExprId child : e.children) parts.push_back(translated(book, child));
      return any_of(std::move(parts));
    case ExprKind::kRepeat:
      return repeat(translated(book, e.children[0]), e.min, e.max == kUnbounded ? kNoMaximum : e.max);
    case ExprKind::kMachine:
      break;
  }
  REQUIRE(false);
  return none();
}

bool Terms::is_nullable(TermId term) {
  if (too_large_) return false;
  if (nullable_[term] >= 0) return nullable_[term] == 1;
  const Node& node = nodes_[term];
  const auto child_is = [&](TermId child) { return is_nullable(child); };
  bool result = false;
  switch (node.kind) {
    case Kind::kNone:
    case Kind::kChars:
      break;
    case Kind::kEmpty:
      result = true;
      break;
    case Kind::kSequence:
    case Kind::kAllOf:
      result = std::ranges::all_of(node.children, child_is);
      break;
    case Kind::kAnyOf:
      result = std::ranges::any_of(node.children, child_is);
      break;
    case Kind::kComplement:
      result = !is_nullable(node.children[0]);
      break;
    case Kind::kRepeat:
      result = node.first == 0;
      break;
    case Kind::kState:
      result = machines_[node.first].states[node.second].accepting;
      break;
    case Kind::kVariable:
      result = is_nullable(definitions_[node.first]);
      break;
  }
  nullable_[term] = result ? 1 : 0;
  return result;
}

const Terms::Steps& Terms::steps_of(TermId term) {
  static const Steps kNowhere{{0, 0}};
  if (too_large_) return kNowhere;
  if (const auto found = steps_.find(term); found != steps_.end()) return found->second;
  Steps made = make_steps(term);
  return steps_[term] = std::move(made);
}

// Derivatives for all code points at once.
Terms::Steps Terms::make_steps(TermId term) {
  const Node node = nodes_[term];
  std::vector<const Steps*> of_children;
  switch (node.kind) {
    case Kind::kNone:
    case Kind::kEmpty:
      break;
    case Kind::kChars: {
      Steps steps;
      if (node.ranges[0].first > 0) steps.push_back({0, none()});
      for (const CodeRange range : node.ranges) {
        steps.push_back({range.first, empty()});
        if (range.last < kMaxCodePoint) steps.push_back({range.last + 1, none()});
      }
      return steps;
    }
    case Kind::kSequence:
      return steps_of_sequence(node.children[0], node.children[1]);
    case Kind::kAnyOf:
    case Kind::kAllOf:
      for (const TermId child : node.children) of_children.push_back(&steps_of(child));
      return combined(of_children, [&](std::vector<TermId> terms) {
        return node.kind == Kind::kAnyOf ? any_of(std::move(terms)) : all_of(std::move(terms));
      });
    case Kind::kComplement:
      return mapped(steps_of(node.children[0]), [&](TermId next) { return complement(next); });
    case Kind::kRepeat: {
      const uint64_t max = node.second == kNoMaximum ? node.second : node.second - 1;
      const TermId rest = repeat(node.children[0], node.first == 0 ? 0 : node.first - 1, max);
      return mapped(steps_of(node.children[0]), [&](TermId next) { return sequence(next, rest); });
    }
    case Kind::kState:
      return steps_of_state(machines_[node.first].states[node.second], machine_starts_[node.first]);
    case Kind::kVariable:
      return steps_of(definitions_[node.first]);
  }
  return {{0, none()}};
}

Terms::Steps Terms::steps_of_sequence(TermId first, TermId rest) {
  const Steps steps = mapped(steps_of(first), [&](TermId next) { return sequence(next, rest); });
  if (!is_nullable(first)) return steps;
  return combined({&steps, &steps_of(rest)}, [&](std::vector<TermId> terms) { return any_of(std::move(terms)); });
}

// `first_term`: the machine's state 0.
Terms::Steps Terms::steps_of_state(const TextMachine::State& state, TermId first_term) {
  std::map<uint32_t, std::pair<uint32_t, TermId>> targets;  // by first code point: the last one, and the target
  for (const auto& edge : state.edges) {
    for (const CodeRange range : edge.ranges) {
      targets[range.first] = {range.last, first_term + edge.to};
    }
  }
  Steps steps{{0, none()}};
  for (const auto& [first, target] : targets) {
    if (steps.back().first == first) steps.pop_back();
    steps.push_back({first, target.second});
    if (target.first < kMaxCodePoint) steps.push_back({target.first + 1, none()});
  }
  return steps;
}

template <class Make>
Terms::Steps Terms::mapped(const Steps& steps, Make make) {
  Steps out;
  for (const Step step : steps) {
    const TermId term = make(step.term);
    if (out.empty() || out.back().term != term) out.push_back({step.first, term});
  }
  return out;
}

template <class Make>
Terms::Steps Terms::combined(const std::vector<const Steps*>& all, Make make) {
  std::vector<uint32_t> firsts;
  for (const Steps* steps : all) {
    for (const Step step : *steps) firsts.push_back(step.first);
  }
  std::sort(firsts.begin(), firsts.end());
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  std::vector<size_t> at(all.size(), 0);
  Steps out;
  for (const uint32_t first : firsts) {
    if (!spend(all.size())) return {{0, none()}};
    std::vector<TermId> terms;
    for (size_t i = 0; i < all.size(); ++i) {
      if (at[i] + 1 < all[i]->size() && (*all[i])[at[i] + 1].first <= first) ++at[i];
      terms.push_back((*all[i])[at[i]].term);
    }
    const TermId term = make(std::move(terms));
    if (out.empty() || out.back().term != term) out.push_back({first, term});
  }
  return out;
}

std::optional<bool> Terms::matches(TermId term, std::string_view utf8) {
  for (size_t at = 0; at < utf8.size() && !too_large_;) {
    const uint32_t code = read_utf8(utf8, at);
    const Steps& steps = steps_of(term);
    const auto next = std::ranges::upper_bound(steps, code, {}, &Step::first);
    term = std::prev(next)->term;
  }
  const bool result = is_nullable(term);
  return too_large_ ? std::nullopt : std::optional(result);
}

std::optional<TextMachine> Terms::machine_of(TermId term) {
  TextMachine out;
  std::map<TermId, uint32_t> state_of{{term, 0}};
  std::vector<TermId> terms{term};
  for (size_t i = 0; i < terms.size(); ++i) {
    const Steps steps = steps_of(terms[i]);
    std::map<uint32_t, CodeRanges> ranges_by_state;
    for (size_t j = 0; j < steps.size(); ++j) {
      if (steps[j].term == none()) continue;
      const auto [found, is_new] = state_of.try_emplace(steps[j].term, static_cast<uint32_t>(terms.size()));
      if (is_new) terms.push_back(steps[j].term);
      const uint32_t last = j + 1 < steps.size() ? steps[j + 1].first - 1 : kMaxCodePoint;
      ranges_by_state[found->second].push_back({steps[j].first, last});
    }
    TextMachine::State state{is_nullable(terms[i]), {}};
    for (auto& [to, ranges] : ranges_by_state) {
      CodeRanges own = normalized(std::move(ranges));
      if (!own.empty()) state.edges.push_back({std::move(own), to});
    }
    out.states.push_back(std::move(state));
    if (too_large_ || terms.size() > kMaxMachineStates) return std::nullopt;
  }
  return trimmed(out);
}

ExprId expr_of(RuleBook& book, const TextMachine& machine, bool is_json) {
  REQUIRE(!machine.states.empty());
  const auto state_of = [](uint32_t id) { return id == 0 ? 0 : id + 1; };  // 1 is the end state
  std::map<std::vector<std::pair<uint32_t, uint32_t>>, ExprId> classes;
  const auto class_of = [&](const CodeRanges& ranges) {
    std::vector<std::pair<uint32_t, uint32_t>> key;
    for (const CodeRange range : ranges) key.emplace_back(range.first, range.last);
    const auto [found, is_new] = classes.try_emplace(std::move(key), kNoExpr);
    if (is_new) found->second = is_json ? book.string_char_of(ranges) : book.char_of(ranges);
    return found->second;
  };
  const ExprId nothing = book.literal("");
  std::vector<Move> moves;
  std::vector<ExprId> children;
  for (uint32_t id = 0; id < machine.states.size(); ++id) {
    const auto& state = machine.states[id];
    if (state.accepting) {
      moves.push_back({state_of(id), 1});
      children.push_back(nothing);
    }
    for (const auto& edge : state.edges) {
      moves.push_back({state_of(id), state_of(edge.to)});
      children.push_back(class_of(edge.ranges));
    }
  }
  return book.machine(moves, children);
}

}  // namespace realizar::grammar
