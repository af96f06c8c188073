// Parses Lark's notation for grammars (lark-parser.readthedocs.io, "Grammar Reference"), which OpenAI's custom tools
// use. Terminals are inlined: Lark's rule of the longest match is not applied, any match is accepted.
#pragma once

#include <string>
#include <string_view>

#include "grammar/expression.h"
#include "realizar/result.h"

namespace realizar::grammar {

// The root is the rule "start". Supported: rules and terminals with | ( ) [ ] ? * + ~ .. and aliases, strings with i,
// regular expressions as in regex_in_text, %ignore, %import of Lark's common terminals, left-recursive rules.
// Priorities are ignored. Errors: Unsupported for anything else (templates, %declare, flags of regular expressions),
// InvalidArgument for malformed text; `path` is the subject, and begins the message.
Result<RuleSet> parse_lark(std::string_view source, const std::string& path);

}  // namespace realizar::grammar
