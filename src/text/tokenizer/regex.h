// Regular expressions over UTF-8, compiled by PCRE2's JIT. Patterns are in tokenizer.json's syntax (Oniguruma's Ruby
// syntax with Unicode classes); compile() translates what PCRE2 interprets differently.
// Any thread may match.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "realizar/result.h"
#include "text/tokenizer/added_tokens.h"

namespace realizar::text {

class Regex {
 public:
  // Errors: FormatError with the position in the pattern.
  static Result<Regex> compile(std::string_view pattern);

  // The first match at or after `from`. `subject` must be valid UTF-8. A match that exceeds PCRE2's limits counts as
  // none; the expressions of tokenizers stay far below them.
  std::optional<TextRange> find(std::string_view subject, size_t from) const;

  // False only if no match can be empty.
  bool may_match_empty() const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

// `pattern` in PCRE2's syntax: see Regex. Errors: Unsupported (a construct that PCRE2 does not have).
Result<std::string> translate_regex(std::string_view pattern);

}  // namespace realizar::text
