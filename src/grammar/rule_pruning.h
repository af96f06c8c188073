// Removes the parts of rules that match no text: alternatives, optional parts and paths through machines that contain
// an empty choice.
#pragma once

#include "grammar/expression.h"

namespace realizar::grammar {

// The rules keep their texts. False, without effect, if `root` has none. Rules that match nothing and are no longer
// called become empty; undefined ones count as having texts.
bool remove_impossible(RuleSet& rules, RuleId root);

}  // namespace realizar::grammar
