// Parses GBNF, llama.cpp's notation for grammars (its grammars/README.md): `name ::= expression`, with literals,
// classes of code points, `.`, groups, `|`, the repetitions * + ? {m} {m,} {m,n}, and # comments. A rule continues over
// a line break inside parentheses, after ::= and on either side of `|`.
#pragma once

#include <string_view>

#include "grammar/expression.h"
#include "grammar/limits.h"
#include "realizar/result.h"

namespace realizar::grammar {

class RuleBook;

// The root is the rule "root". Errors: InvalidArgument "line L, column C: ..."; also InvalidArgument beyond `limits`.
// Rules that are used but never defined have no body; `check_rules` refuses them.
Result<RuleSet> parse_gbnf(std::string_view source, const Limits& limits);

// Parses the right-hand side of a rule into a book, whose rules its names refer to. Errors: as above.
Result<ExprId> parse_gbnf_expression(std::string_view source, RuleBook& book);

}  // namespace realizar::grammar
