// adapter_config.json of PEFT (Hugging Face's library of adapters): what of it decides what a LoRA adapter computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "realizar/result.h"

namespace realizar {

class PeftConfig {
 public:
  // Errors: FormatError (not JSON, a value of another type or out of range), Unsupported (what changes the computation
  // in ways that are not there: DoRA, trained biases, whole modules, patterns that are regular expressions, by name).
  // `file` names it in errors.
  static Result<PeftConfig> parse(std::string_view text, std::string_view file);

  // The factor on up . down of the module called `name`, whose matrices have this rank.
  double scale_of(std::string_view name, uint32_t rank) const;
  // The rank that it says the module has.
  uint32_t rank_of(std::string_view name) const;

 private:
  // The end of a module's name, and its value.
  template <class Value>
  using Patterns = std::vector<std::pair<std::string, Value>>;

  uint32_t rank_ = 0;
  double alpha_ = 0;
  bool is_rank_stabilized_ = false;
  Patterns<uint32_t> ranks_;
  Patterns<double> alphas_;
};

}  // namespace realizar
