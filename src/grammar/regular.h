// Regular languages over code points with intersection and complement: extended regular expressions ("terms") and the
// automata of their derivatives (Brzozowski 1964; Owens, Reppy and Turon 2009). For texts that rules cannot describe:
// lookaheads, a pattern together with a length, multiples within bounds, names other than given ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "grammar/expression.h"
#include "grammar/rule_book.h"

namespace realizar::grammar {

using TermId = uint32_t;
using CodeRanges = std::vector<CodeRange>;

// A deterministic automaton that starts in state 0. If no edge contains a code point, the text is rejected.
struct TextMachine {
  struct Edge {
    CodeRanges ranges;  // normalized, disjoint from the state's other edges
    uint32_t to = 0;
  };
  struct State {
    bool accepting = false;
    std::vector<Edge> edges;
  };
  std::vector<State> states;
};

// Terms under construction; equal terms are the same. Work and memory are bounded: beyond the limits terms are invalid,
// and asking for their texts reports that.
class Terms {
 public:
  Terms();

  TermId none() const { return 0; }        // no text
  TermId empty() const { return 1; }       // the empty text
  TermId everything() const { return 2; }  // all texts
  TermId chars(CodeRanges ranges);         // one code point; normalized, none() if it is empty
  TermId literal(std::string_view utf8);
  TermId sequence(TermId a, TermId b);
  TermId any_of(std::vector<TermId> options);
  TermId all_of(std::vector<TermId> parts);
  TermId without(TermId a, TermId b) { return all_of({a, complement(b)}); }
  TermId complement(TermId a);
  TermId repeat(TermId item, uint64_t min, uint64_t max);  // max: kNoMaximum for no limit
  TermId machine(const TextMachine& machine);
  // The texts of an expression whose rules are all defined and not recursive.
  TermId of_expr(const RuleBook& book, ExprId id);
  // A name for a term that contains itself, after at least one code point.
  TermId variable();
  void define(TermId variable, TermId term) { definitions_[nodes_[variable].first] = term; }

  // nullopt beyond the limits.
  std::optional<bool> matches(TermId term, std::string_view utf8);
  // States that cannot reach acceptance are left out: no states if there is no text. nullopt beyond the limits.
  std::optional<TextMachine> machine_of(TermId term);

 private:
  enum class Kind : uint8_t {
    kNone,
    kEmpty,
    kChars,
    kSequence,
    kAnyOf,
    kAllOf,
    kComplement,
    kRepeat,
    kState,
    kVariable
  };
  struct Node {
    Kind kind = Kind::kNone;
    uint64_t first = 0, second = 0;  // for a repeat: the counts; for a state: the machine and the state in it
    CodeRanges ranges = {};
    std::vector<TermId> children = {};
  };
  // A function of the code point: the term for the rest of the text. Each step applies up to the next one's `first`.
  struct Step {
    uint32_t first = 0;
    TermId term = 0;
  };
  using Steps = std::vector<Step>;

  TermId intern(Node node);
  std::vector<TermId> flattened(Kind kind, const std::vector<TermId>& terms) const;
  void join_chars(std::vector<TermId>& terms, bool is_any);
  bool is_nullable(TermId term);
  const Steps& steps_of(TermId term);
  Steps make_steps(TermId term);
  Steps steps_of_sequence(TermId first, TermId rest);
  Steps steps_of_state(const TextMachine::State& state, TermId first_term);
  TermId translated(const RuleBook& book, ExprId id);
  template <class Make>
  Steps mapped(const Steps& steps, Make make);
  template <class Make>
  Steps combined(const std::vector<const Steps*>& all, Make make);
  bool spend(size_t work);

  using Key = std::tuple<uint8_t, uint64_t, uint64_t, std::vector<std::pair<uint32_t, uint32_t>>, std::vector<TermId>>;
  std::vector<Node> nodes_;
  std::vector<uint32_t> depth_;
  std::vector<int8_t> nullable_;  // -1: not computed yet
  std::map<Key, TermId> ids_;
  std::map<TermId, Steps> steps_;
  std::vector<TermId> definitions_;     // by variable
  std::vector<TextMachine> machines_;   // by number
  std::vector<TermId> machine_starts_;  // the term of each machine's state 0; those of the other states follow it
  size_t work_left_;
  bool too_large_ = false;
};

// Rules for the machine; `is_json`: its texts are written as inside a JSON string.
ExprId expr_of(RuleBook& book, const TextMachine& machine, bool is_json);

}  // namespace realizar::grammar
