// Lark's notation for grammars (lark-parser.readthedocs.io, "Grammar Reference"), which OpenAI's custom tools use, as
// rules. Its terminals are written out: what Lark tells by the longest match is any match here.
#pragma once

#include <string>
#include <string_view>

#include "grammar/expression.h"
#include "realizar/result.h"

namespace realizar::grammar {

// The root is the rule "start". Built: rules and terminals with | ( ) [ ] ? * + ~ .. and aliases, strings with i,
// regular expressions as regex_in_text reads them, %ignore, %import of Lark's common terminals, rules that begin with
// themselves. Priorities change nothing. Errors: Unsupported for what is not built (templates, %declare, flags of
// regular expressions), InvalidArgument for the rest; `path` is the subject, and begins the message.
Result<RuleSet> parse_lark(std::string_view source, const std::string& path);

}  // namespace realizar::grammar
