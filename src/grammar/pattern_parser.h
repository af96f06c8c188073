// Parses ECMA-262 regular expressions to trees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/expression.h"
#include "realizar/result.h"

namespace realizar::grammar {

struct PatternNode {
  enum class Kind : uint8_t {
    kChars,      // one code point in `ranges`
    kSequence,   // all `children` in order
    kChoice,     // one of `children`
    kRepeat,     // children[0], min to max times; kNoMaximum for no limit
    kLookahead,  // children[0] matches here, or does not if `negated`
    kBegin,      // ^
    kEnd,        // $
  };
  Kind kind = Kind::kSequence;
  std::vector<CodeRange> ranges = {};  // normalized
  std::vector<PatternNode> children = {};
  uint64_t min = 0, max = 0;
  bool negated = false;
  bool has_assertions = false;              // it is, or contains, one of the last three kinds
  uint64_t min_length = 0, max_length = 0;  // of its texts in code points, saturated
  size_t at = 0;                            // index of its first byte in the pattern
};

// The root is a choice of sequences. Errors: InvalidArgument for a malformed pattern, Unsupported for word boundaries,
// lookbehinds, backreferences and \p; `path` is the subject.
Result<PatternNode> parse_pattern(std::string_view pattern, const std::string& path);

}  // namespace realizar::grammar
