// Takes out of rules what no text can have: alternatives, optional parts and ways through machines that hold a choice
// of nothing.
#pragma once

#include "grammar/expression.h"

namespace realizar::grammar {

// The rules keep their texts. False, and nothing changes, where `root` has none. Rules that have none and are not
// called any more become empty; those that are not defined yet count as if they had some.
bool remove_impossible(RuleSet& rules, RuleId root);

}  // namespace realizar::grammar
