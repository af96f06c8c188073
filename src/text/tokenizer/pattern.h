// The search pattern of a pre-tokenizer, and what happens to its matches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/regex.h"

namespace realizar::text {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // The first match at or after `from`; `subject` is valid UTF-8. A match may be empty.
  virtual std::optional<TextRange> find(std::string_view subject, size_t from) const = 0;
};

using CharPredicate = bool (*)(uint32_t code);

std::unique_ptr<Pattern> make_regex_pattern(Regex regex);
std::unique_ptr<Pattern> make_string_pattern(std::string wanted);
// Matches one character at a time.
std::unique_ptr<Pattern> make_char_pattern(CharPredicate predicate);

// Hugging Face's SplitDelimiterBehavior: what happens to the matches.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Appends the parts of `subject` to `out`, offset by `base`. `invert` swaps matches and the text between them.
void split_text(std::string_view subject, const Pattern& pattern, SplitBehavior behavior, bool invert, size_t base,
                std::vector<TextRange>& out);

}  // namespace realizar::text
