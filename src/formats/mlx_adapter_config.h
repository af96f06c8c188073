// adapter_config.json of mlx-lm (Apple's library), which trains low-rank adapters for MLX.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "realizar/result.h"

namespace realizar {

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
