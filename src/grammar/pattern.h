// Rules for regular expressions (ECMA-262, except what is not regular): JSON Schema's `pattern`, inside a JSON string,
// and expressions over plain text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/regular.h"
#include "grammar/rule_book.h"
#include "realizar/result.h"

namespace realizar::grammar {

// The permitted lengths of a string, in code points.
struct LengthRange {
  uint64_t min = 0, max = ~uint64_t{0};
};

// The text between the quotes; nullopt if there is none. A pattern matches anywhere, unless it is anchored. Errors:
// InvalidArgument for a malformed pattern, Unsupported for word boundaries, lookbehinds, backreferences, \p and for
// lookaheads and lengths whose automaton is too large; `path` is the subject.
Result<std::optional<ExprId>> pattern_in_string(RuleBook& book, std::string_view pattern, const LengthRange& wanted,
                                                const std::string& path);

// For plain text outside of JSON, which the expression must match completely: ^ at its beginning and $ at its end have
// no effect. InvalidArgument if there is no such text.
Result<ExprId> regex_in_text(RuleBook& book, std::string_view regex, const std::string& path);

// The texts that contain a match of the pattern.
Result<TermId> texts_with_pattern(Terms& terms, std::string_view pattern, const std::string& path);

}  // namespace realizar::grammar
