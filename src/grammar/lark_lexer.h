// The tokens of a grammar in Lark's notation (lark-parser.readthedocs.io, "Grammar Reference").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::grammar {

struct LarkToken {
  enum class Kind : uint8_t {
    kName,     // of a rule (lower case) or a terminal (upper case), without the marks ? and ! before it
    kString,   // `text` is its unescaped content
    kRegex,    // `text` is the part between the slashes
    kNumber,   // `text` is its digits
    kMark,     // one of : | ( ) [ ] ? * + ~ .. . -> , { }
    kCommand,  // %ignore, %import ...: `text` is the word
    kNewline,  // one or more, outside of parentheses, not followed by |
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  std::string flags;  // for a string or a regular expression
  uint32_t line = 1;
};

// The last token is the end. Errors: InvalidArgument "line L: ..." whose subject is `path`.
Result<std::vector<LarkToken>> lark_tokens(std::string_view source, const std::string& path);

}  // namespace realizar::grammar
