// Regular expressions over the names of modules, as Python's re has them and PCRE2 reads them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar {

class ModulePattern {
 public:
  // Matches a whole name, or its end after a point: (.*\.)?(pattern)$, as PEFT puts it (peft.utils.other,
  // get_pattern_key). Errors: FormatError, with the position in the pattern.
  static Result<ModulePattern> of_end(std::string_view pattern);

  // Errors: Unsupported, for a pattern that takes more steps than there are bounds for.
  Result<bool> matches(std::string_view name) const;

 private:
  struct Code;
  ModulePattern(std::string pattern, std::shared_ptr<const Code> code)
      : pattern_(std::move(pattern)), code_(std::move(code)) {}
  std::string pattern_;
  std::shared_ptr<const Code> code_;
};

}  // namespace realizar
