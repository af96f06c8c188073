#include "formats/mlx_adapter_config.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/try.h"

namespace realizar {
namespace {

using nlohmann::json;

constexpr double kMaxScale = 1e6;
constexpr uint64_t kMaxMlxRank = 1 << 16;
constexpr const char* kParameters = "lora_parameters";

Error wrong_parameter(std::string_view file, std::string_view key, std::string_view expected, const json& actual) {
  constexpr size_t kMost = 60;
  const std::string shown = actual.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, kMost);
  return format_error(fmt::format("{}: {}: expected {}, actual {}", file, key, expected, shown), std::string(key));
}

Result<double> to_number(const json& value, std::string_view file, std::string_view key) {
  if (value.is_number() && std::fabs(value.get<double>()) <= kMaxScale) return value.get<double>();
  return wrong_parameter(file, key, fmt::format("a number of at most {}", kMaxScale), value);
}

}  // namespace

bool MlxAdapterConfig::is_one(const json& root) {
  return !root.contains("peft_type") && (root.contains(kParameters) || root.contains("fine_tune_type"));
}

Result<MlxAdapterConfig> MlxAdapterConfig::parse(const json& root, std::string_view file) {
  const json kind = root.value("fine_tune_type", json("lora"));
  const json dora = root.value("use_dora", json(false));
  if (kind != "lora" || dora == true) {
    const std::string key = kind != "lora" ? "fine_tune_type" : "use_dora";
    return unsupported(
        fmt::format("{}: {} of {} is not supported: expected a plain LoRA adapter", file, key, root.at(key).dump()),
        key);
  }
  const json given = root.value(kParameters, json());
  if (!given.is_object()) return wrong_parameter(file, kParameters, "an object", given);
  MlxAdapterConfig config;
  if (const auto rank = given.find("rank"); rank != given.end()) {
    const bool fits = rank->is_number_unsigned() && rank->get<uint64_t>() >= 1 && rank->get<uint64_t>() <= kMaxMlxRank;
    if (!fits) {
      return wrong_parameter(file, "lora_parameters.rank", fmt::format("a whole number from 1 to {}", kMaxMlxRank),
                             *rank);
    }
    config.rank = rank->get<uint32_t>();
  }
  const auto alpha = given.find("alpha");
  if (!given.contains("scale") && alpha != given.end() && config.rank) {
    RZ_TRY(config.scale, to_number(*alpha, file, "lora_parameters.alpha"));
    config.scale /= *config.rank;
    return config;
  }
  // mlx-lm ignores alpha if there is a scale.
  RZ_TRY(config.scale, to_number(given.value("scale", json()), file, "lora_parameters.scale"));
  return config;
}

}  // namespace realizar
