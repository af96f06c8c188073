// adapter_config.json of PEFT (Hugging Face's library of adapters): what of it decides what a LoRA adapter computes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "realizar/result.h"

namespace realizar {

// A regular expression over the names of modules, as Python's re has them and PCRE2 reads them.
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

class PeftConfig {
 public:
  // Errors: FormatError (not JSON, a value of another type or out of range, a pattern that is no regular expression),
  // Unsupported (what changes the computation in ways that are not there: DoRA, trained biases, whole modules, by
  // name). `file` names it in errors. Which modules PEFT was to train (target_modules, exclude_modules,
  // layers_to_transform) says nothing more than the tensors do.
  static Result<PeftConfig> parse(std::string_view text, std::string_view file);

  // The factor on up . down of the module called `name`, whose matrices have this rank. Errors: ModulePattern's.
  Result<double> scale_of(std::string_view name, uint32_t rank) const;
  // The rank that it says the module has.
  Result<uint32_t> rank_of(std::string_view name) const;

 private:
  // Patterns of modules' names, in the file's order, with their values: the first that matches counts.
  template <class Value>
  using Patterns = std::vector<std::pair<ModulePattern, Value>>;

  uint32_t rank_ = 0;
  double alpha_ = 0;
  bool is_rank_stabilized_ = false;
  Patterns<uint32_t> ranks_;
  Patterns<double> alphas_;
};

}  // namespace realizar
