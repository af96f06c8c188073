// Regular languages over code points with intersection and complement: extended regular expressions ("terms") and the
// automata that their derivatives give (Brzozowski 1964; Owens, Reppy and Turon 2009). For what rules cannot say:
// lookaheads, a pattern together with a length, multiples within bounds, names that are none of some.
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

// A deterministic automaton, which starts in state 0. Where no edge holds a code point, the text is none of its own.
struct TextMachine {
  struct Edge {
    CodeRanges ranges;  // normalized, apart from those of the state's other edges
    uint32_t to = 0;
  };
  struct State {
    bool accepting = false;
    std::vector<Edge> edges;
  };
  std::vector<State> states;
};

// Terms under construction; equal terms are one. Work and memory are bounded: beyond that, terms mean nothing, and
// whoever asks for their texts is told so.
class Terms {
 public:
  Terms();

  TermId none() const { return 0; }        // no text
  TermId empty() const { return 1; }       // the empty text
  TermId everything() const { return 2; }  // all texts
  TermId chars(CodeRanges ranges);         // one code point; normalized, none() where it is empty
  TermId literal(std::string_view utf8);
  TermId sequence(TermId a, TermId b);
  TermId any_of(std::vector<TermId> options);
  TermId all_of(std::vector<TermId> parts);
  TermId without(TermId a, TermId b) { return all_of({a, complement(b)}); }
  TermId complement(TermId a);
  TermId repeat(TermId item, uint64_t min, uint64_t max);  // max: kNoMaximum for no limit
  TermId machine(const TextMachine& machine);
  // The texts of an expression that holds no rule but those that are defined and not recursive.
  TermId of_expr(const RuleBook& book, ExprId id);
  // A name for a term that holds itself, after one code point at least.
  TermId variable();
  void define(TermId variable, TermId term) { definitions_[nodes_[variable].first] = term; }

  // nullopt beyond the bounds.
  std::optional<bool> matches(TermId term, std::string_view utf8);
  // States that lead to no text are left out: no states for no text. nullopt beyond the bounds.
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
    uint64_t first = 0, second = 0;  // of a repeat: the counts; of a state: the machine and the state in it
    CodeRanges ranges = {};
    std::vector<TermId> children = {};
  };
  // A function of the code point: what is left of a term's texts after it. Each step holds up to the next one's first.
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
  std::vector<int8_t> nullable_;  // -1: not known yet
  std::map<Key, TermId> ids_;
  std::map<TermId, Steps> steps_;
  std::vector<TermId> definitions_;     // by variable
  std::vector<TextMachine> machines_;   // by number
  std::vector<TermId> machine_starts_;  // the term of each one's state 0; those of the others follow it
  size_t work_left_;
  bool too_large_ = false;
};

// The machine as rules; `is_json` spells its texts for the inside of a JSON string.
ExprId expr_of(RuleBook& book, const TextMachine& machine, bool is_json);

}  // namespace realizar::grammar
