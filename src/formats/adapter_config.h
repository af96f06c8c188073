// adapter_config.json of PEFT (Hugging Face's library of adapters): the settings that affect what a LoRA adapter
// computes.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "realizar/result.h"

namespace realizar {

// A regular expression over the names of modules, in Python's syntax, matched by PCRE2.
class ModulePattern {
 public:
  // Matches a whole name, or its end after a dot: (.*\.)?(pattern)$, as in PEFT (peft.utils.other, get_pattern_key).
  // Errors: FormatError, with the position in the pattern.
  static Result<ModulePattern> of_end(std::string_view pattern);

  // Errors: Unsupported for a pattern that exceeds the step limit.
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
  // Errors: FormatError (not JSON, a value of another type or out of range, a pattern that is not a regular
  // expression), Unsupported (settings with effects that are not implemented: DoRA, trained biases, whole modules, by
  // name). `file` names it in errors. The settings that select modules for training (target_modules, exclude_modules,
  // layers_to_transform) are ignored, since the tensors show the selection.
  static Result<PeftConfig> parse(std::string_view text, std::string_view file);

  // The factor on up . down of the module called `name`, whose matrices have this rank. Errors: ModulePattern's.
  Result<double> scale_of(std::string_view name, uint32_t rank) const;
  // The rank that the config states for the module.
  Result<uint32_t> rank_of(std::string_view name) const;

 private:
  // Patterns of module names, in file order, with their values: the first match wins.
  template <class Value>
  using Patterns = std::vector<std::pair<ModulePattern, Value>>;

  uint32_t rank_ = 0;
  double alpha_ = 0;
  bool is_rank_stabilized_ = false;
  Patterns<uint32_t> ranks_;
  Patterns<double> alphas_;
};

// adapter_config.json of mlx-lm (Apple's library), which trains low-rank adapters for MLX.
struct MlxAdapterConfig {
  double scale = 0;              // factor on up . down
  std::optional<uint32_t> rank;  // of every module, if the file states it

  // Whether it is MLX's: PEFT's has other keys.
  static bool is_one(const nlohmann::json& root);
  // Errors: FormatError (a value that is missing, of another type or out of range), Unsupported (DoRA, full weights),
  // by key. `file` names it in errors.
  static Result<MlxAdapterConfig> parse(const nlohmann::json& root, std::string_view file);
};

}  // namespace realizar
