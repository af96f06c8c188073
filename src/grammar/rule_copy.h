// Copies the rules of one grammar into another.
#pragma once

#include "grammar/rule_book.h"

namespace realizar::grammar {

// Adds the part of `rules` that the root reaches; returns an expression for its texts. `is_json`: their characters are
// spelled as inside a JSON string.
ExprId copy_rules(RuleBook& book, const RuleSet& rules, bool is_json);

}  // namespace realizar::grammar
