// Regular expressions (ECMA-262, without what is not regular) as rules: JSON Schema's `pattern`, for the inside of a
// JSON string, and expressions for text as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/regular.h"
#include "grammar/rule_book.h"
#include "realizar/result.h"

namespace realizar::grammar {

// Which lengths a string may have, in code points.
struct LengthRange {
  uint64_t min = 0, max = ~uint64_t{0};
};

// The text between the quotes; nullopt where there is none. A pattern matches anywhere, unless it is anchored. Errors:
// InvalidArgument for a broken pattern, Unsupported for word boundaries, lookbehinds, backreferences, \p and for
// lookaheads and lengths that take too large an automaton; `path` is the subject.
Result<std::optional<ExprId>> pattern_in_string(RuleBook& book, std::string_view pattern, const LengthRange& wanted,
                                                const std::string& path);

// The same of text as it is, outside JSON, which the expression must match whole: ^ at its beginning and $ at its end
// add nothing. InvalidArgument where there is no such text.
Result<ExprId> regex_in_text(RuleBook& book, std::string_view regex, const std::string& path);

// The texts that a pattern is found in.
Result<TermId> texts_with_pattern(Terms& terms, std::string_view pattern, const std::string& path);

}  // namespace realizar::grammar
