#include "formats/adapter_config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/plain_json.h"
#include "base/try.h"
#include "formats/hf_config.h"

namespace realizar {
namespace {

using nlohmann::json;

constexpr int64_t kMaxRank = 1 << 16;
constexpr double kMaxAlpha = 1e6;

// Keys that, if set, mean something other than plain LoRA.
constexpr std::string_view kUnsupportedWhenSet[] = {
    "use_dora",    "lora_bias",     "modules_to_save",         "layer_replication", "target_parameters",
    "use_qalora",  "arrow_config",  "trainable_token_indices", "use_bdlora",        "alora_invocation_tokens",
    "kasa_config", "velora_config", "monteclora_config"};
// Values of "init_lora_weights" that also change the base model's weights.
constexpr std::string_view kBaseChanging[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};

Error unsupported_key(std::string_view file, std::string_view key, const std::string& value) {
  const bool is_whole = key == "modules_to_save" || key == "trainable_token_indices";
  const std::string_view reason =
      is_whole ? "it replaces weights of the model, which requests with other adapters share; merge it into the model"
               : "expected a plain LoRA adapter";
  return unsupported(fmt::format("{}: {} of {} is not supported: {}", file, key, value, reason), std::string(key));
}

bool is_set(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return !value.is_null() && !(value.is_structured() && value.empty());
}

std::string value_text(const json& value) {
  constexpr size_t kMost = 60;
  return value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, kMost);
}

Status check_kind(const json& root, std::string_view file) {
  const auto string_at = [&](const char* key) {
    const auto found = root.find(key);
    return found != root.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (string_at("peft_type") != "LORA") {
    const auto found = root.find("peft_type");
    return unsupported_key(file, "peft_type", found == root.end() ? "none" : value_text(*found));
  }
  for (const std::string_view key : kUnsupportedWhenSet) {
    const auto found = root.find(key);
    if (found != root.end() && is_set(*found)) return unsupported_key(file, key, value_text(*found));
  }
  const auto bias = root.find("bias");
  if (bias != root.end() && is_set(*bias) && *bias != "none") return unsupported_key(file, "bias", value_text(*bias));
  const std::string init = string_at("init_lora_weights");
  for (const std::string_view name : kBaseChanging) {
    if (init.starts_with(name)) return unsupported_key(file, "init_lora_weights", init);
  }
  return {};
}

Error wrong_value(std::string_view file, const std::string& key, const std::string& expected, const json& actual) {
  return format_error(fmt::format("{}: {}: expected {}, actual {}", file, key, expected, value_text(actual)), key);
}

Result<uint32_t> to_rank(const json& value, std::string_view file, const std::string& key) {
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() >= 1 && value.get<uint64_t>() <= kMaxRank;
  if (!fits) return wrong_value(file, key, fmt::format("a whole number from 1 to {}", kMaxRank), value);
  return value.get<uint32_t>();
}

Result<double> to_alpha(const json& value, std::string_view file, const std::string& key) {
  const bool fits = value.is_number() && std::fabs(value.get<double>()) <= kMaxAlpha;
  if (!fits) return wrong_value(file, key, fmt::format("a number of at most {}", kMaxAlpha), value);
  return value.get<double>();
}

template <class Value, class Convert>
Result<std::vector<std::pair<ModulePattern, Value>>> read_patterns(const nlohmann::ordered_json& root,
                                                                   std::string_view file, const char* key,
                                                                   const Convert& convert) {
  std::vector<std::pair<ModulePattern, Value>> patterns;
  const auto found = root.find(key);
  if (found == root.end() || found->is_null()) return patterns;
  if (!found->is_object()) return wrong_value(file, key, "an object", json(*found));
  for (const auto& [text, value] : found->items()) {
    auto pattern = ModulePattern::of_end(text);
    if (!pattern.ok()) return format_error(fmt::format("{}: {}: {}", file, key, pattern.error().message), key);
    RZ_TRY(const Value own, convert(json(value), file, fmt::format("{}.{}", key, text)));
    patterns.emplace_back(std::move(*pattern), own);
  }
  return patterns;
}

template <class Value>
Result<Value> value_for(const std::vector<std::pair<ModulePattern, Value>>& patterns, std::string_view name,
                        Value otherwise) {
  for (const auto& [pattern, value] : patterns) {
    RZ_TRY(const bool matches, pattern.matches(name));
    if (matches) return value;
  }
  return otherwise;
}

constexpr uint32_t kMaxSteps = 1'000'000, kMaxHeapKib = 16 * 1024;

template <class T, void (*free)(T*)>
using Owned = std::unique_ptr<T, decltype([](T* owned) { free(owned); })>;

PCRE2_SPTR as_units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

pcre2_code* compiled(std::string_view pattern, int& error, size_t& offset) {
  return pcre2_compile(as_units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error,
                       &offset, nullptr);
}

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

struct ModulePattern::Code {
  explicit Code(pcre2_code* compiled_code) : code(compiled_code) {}
  Owned<pcre2_code, pcre2_code_free> code;
};

Result<ModulePattern> ModulePattern::of_end(std::string_view pattern) {
  int error = 0;
  size_t offset = 0;
  // The pattern must be valid by itself: the text around it could close a bracket that the pattern opens.
  const Owned<pcre2_code, pcre2_code_free> alone(compiled(pattern, error, offset));
  if (alone == nullptr) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof message);
    return format_error(fmt::format("regular expression '{}': {} at offset {}", pattern.substr(0, 100),
                                    reinterpret_cast<const char*>(message), offset));
  }
  pcre2_code* code = compiled(fmt::format("(.*\\.)?({})$", pattern), error, offset);
  if (code == nullptr) {
    return format_error(
        fmt::format("regular expression '{}': this is only supported by itself", pattern.substr(0, 100)));
  }
  return ModulePattern(std::string(pattern), std::make_shared<const Code>(code));
}

Result<bool> ModulePattern::matches(std::string_view name) const {
  const Owned<pcre2_match_data, pcre2_match_data_free> data(pcre2_match_data_create(1, nullptr));
  const Owned<pcre2_match_context, pcre2_match_context_free> context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMaxSteps);
  pcre2_set_heap_limit(context.get(), kMaxHeapKib);
  const int found =
      pcre2_match(code_->code.get(), as_units(name), name.size(), 0, PCRE2_ANCHORED, data.get(), context.get());
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  return unsupported(fmt::format("regular expression '{}': '{}' takes more than {} steps", pattern_.substr(0, 100),
                                 name.substr(0, 100), kMaxSteps));
}

Result<PeftConfig> PeftConfig::parse(std::string_view text, std::string_view file) {
  RZ_TRY(const json root, parse_json_object(text, file));
  RZ_CHECK_OK(check_kind(root, file));
  PeftConfig config;
  const auto value_at = [&](const char* key) { return root.contains(key) ? root.at(key) : json(); };
  RZ_TRY(config.rank_, to_rank(value_at("r"), file, "r"));
  RZ_TRY(config.alpha_, to_alpha(value_at("lora_alpha"), file, "lora_alpha"));
  const json rslora = value_at("use_rslora");
  if (!rslora.is_null() && !rslora.is_boolean()) return wrong_value(file, "use_rslora", "true or false", rslora);
  config.is_rank_stabilized_ = rslora.is_boolean() && rslora.get<bool>();
  const auto in_order = nlohmann::ordered_json::parse(plain_json(text));
  RZ_TRY(config.ranks_, read_patterns<uint32_t>(in_order, file, "rank_pattern", to_rank));
  RZ_TRY(config.alphas_, read_patterns<double>(in_order, file, "alpha_pattern", to_alpha));
  return config;
}

Result<uint32_t> PeftConfig::rank_of(std::string_view name) const {
  return value_for(ranks_, name, rank_);
}

Result<double> PeftConfig::scale_of(std::string_view name, uint32_t rank) const {
  RZ_TRY(const double alpha, value_for(alphas_, name, alpha_));
  return alpha / (is_rank_stabilized_ ? std::sqrt(rank) : rank);
}

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
