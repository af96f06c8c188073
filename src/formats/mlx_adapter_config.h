// adapter_config.json of mlx-lm (Apple's library), which trains adapters of low rank for MLX.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "realizar/result.h"

namespace realizar {

struct MlxAdapterConfig {
  double scale = 0;              // on up . down
  std::optional<uint32_t> rank;  // of every module, where the file says it

  // Whether it is one of MLX: PEFT's have other keys.
  static bool is_one(const nlohmann::json& root);
  // Errors: FormatError (a value that is missing, of another type or out of range), Unsupported (DoRA, whole weights),
  // by key. `file` names it in errors.
  static Result<MlxAdapterConfig> parse(const nlohmann::json& root, std::string_view file);
};

}  // namespace realizar
