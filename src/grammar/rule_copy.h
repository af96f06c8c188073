// Rules of one grammar as a part of another.
#pragma once

#include "grammar/rule_book.h"

namespace realizar::grammar {

// Adds what the root of `rules` reaches; gives an expression of its texts. `is_json` spells each of their characters as
// it stands inside a JSON string.
ExprId copy_rules(RuleBook& book, const RuleSet& rules, bool is_json);

}  // namespace realizar::grammar
