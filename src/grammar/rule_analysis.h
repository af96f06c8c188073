// Properties of a grammar computed before its automaton is built: which rules can be empty, which are recursive, how
// large they are; and whether the grammar is usable.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/expression.h"
#include "grammar/limits.h"
#include "realizar/result.h"

namespace realizar::grammar {

struct RuleAnalysis {
  std::vector<bool> expr_nullable;     // [exprs] matches the empty text
  std::vector<uint32_t> expr_size;     // [exprs] number of states with rules inlined, saturated; see kHuge
  std::vector<bool> rule_recursive;    // [rules] can reach itself
  std::vector<uint32_t> rule_n_uses;   // [rules] references from rules that the root reaches
  std::vector<bool> rule_only_at_end;  // [rules] every one of those references is at the end of its rule
  // [rules] ends with a rule that is built into the same automaton: one used twice, and only at ends.
  std::vector<bool> rule_ends_chain;
};

inline constexpr uint32_t kHuge = 1u << 20;

// Errors: InvalidArgument for a reachable rule that is undefined, left-recursive or can never end, by name, line and
// column. Rules that the root does not reach are not checked, except that the rules that they use must be defined.
Result<RuleAnalysis> analyze_rules(const RuleSet& rules, const Deadline& deadline);

}  // namespace realizar::grammar
