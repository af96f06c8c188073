#include "tools/sampling_keys.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace realizar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSamplingPrefix = "general.sampling.";

struct SamplingKey {
  const char* gguf;
  const char* hf;
  bool is_whole;
};

// transformers supports the first five. llama.cpp's converter reads the others from the same file.
constexpr SamplingKey kSamplingKeys[] = {{"temp", "temperature", false},
                                         {"top_k", "top_k", true},
                                         {"top_p", "top_p", false},
                                         {"min_p", "min_p", false},
                                         {"penalty_repeat", "repetition_penalty", false},
                                         {"penalty_last_n", "penalty_last_n", true},
                                         {"xtc_probability", "xtc_probability", false},
                                         {"xtc_threshold", "xtc_threshold", false},
                                         {"mirostat", "mirostat", true},
                                         {"mirostat_tau", "mirostat_tau", false},
                                         {"mirostat_eta", "mirostat_eta", false}};

std::string gguf_key(std::string_view name) {
  return std::string(kSamplingPrefix) + std::string(name);
}

void add_recommended(const SamplingKey& key, const Json& value, GgufKeys& keys) {
  if (!value.is_number()) return;
  const auto number = value.get<double>();
  if (!key.is_whole) return keys.set(gguf_key(key.gguf), static_cast<float>(number));
  if (number == std::trunc(number) && std::abs(number) <= INT32_MAX) {
    keys.set(gguf_key(key.gguf), static_cast<int32_t>(number));
  }
}

// The shortest decimal number that rounds to the F32 number.
double shortest(double value) {
  const double rounded = std::round(value * 1e6) / 1e6;
  return static_cast<float>(rounded) == static_cast<float>(value) ? rounded : value;
}

}  // namespace

bool is_sampling_key(std::string_view key) {
  return key.starts_with(kSamplingPrefix);
}

Status add_sampling_keys(const std::string& generation_config, GgufKeys& keys) {
  constexpr const char* kName = "generation_config.json";
  const Json json = Json::parse(generation_config, nullptr, false);
  if (!json.is_object()) return format_error(std::string(kName) + ": expected a JSON object", kName);
  // Without do_sample the likeliest token is taken, and the other settings have no effect.
  if (const auto sample = json.find("do_sample"); sample != json.end() && *sample == false) {
    keys.set(gguf_key("temp"), 0.0f);
    return {};
  }
  if (const auto order = json.find("sequence"); order != json.end() && order->is_string()) {
    keys.set(gguf_key("sequence"), order->get<std::string>());
  }
  for (const SamplingKey& key : kSamplingKeys) {
    if (const auto found = json.find(key.hf); found != json.end()) add_recommended(key, *found, keys);
  }
  return {};
}

void add_recommended_sampling(const Metadata& gguf, Json& json) {
  const size_t n_before = json.size();
  for (const SamplingKey& key : kSamplingKeys) {
    const auto value = gguf.get_double(gguf_key(key.gguf));
    if (!value.ok() || !*value) continue;
    if (key.is_whole) {
      json[key.hf] = static_cast<int64_t>(**value);
    } else {
      json[key.hf] = shortest(**value);
    }
  }
  if (const auto order = gguf.get_string(gguf_key("sequence")); order.ok() && *order) json["sequence"] = **order;
  if (json.size() > n_before) json["do_sample"] = json.value("temperature", 1.0) > 0;
}

}  // namespace realizar
