#include "api/generation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/text_assets.h"
#include "base/try.h"
#include "formats/end_claims.h"
#include "sampling/parameters.h"
#include "sampling/sampler.h"
#include "sampling/sampler_names.h"

namespace realizar {
namespace {

using Json = nlohmann::json;

// Clamps to the range of T; the value itself is checked along with the other parameters.
template <class T>
T saturated(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return T{};
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

// Adopts a recommendation, or skips it with a note if no request could set it. `where`: file and key.
void recommend(const SamplingParameter& parameter, double value, const std::string& where, GenerationConfig& config) {
  SamplingParams params = config.sampling;
  if (value == -1 && parameter.minus_one_is_zero) value = 0;
  visit_parameter(parameter, params,
                  [value](auto& member) { member = saturated<std::remove_reference_t<decltype(member)>>(value); });
  const bool is_number = std::isfinite(value);
  if (is_number && validate(params, UINT32_MAX).ok()) {
    config.sampling = std::move(params);
    return;
  }
  config.notes.push_back(
      fmt::format("{}: the recommended value {} is left out: expected {}", where, value, parameter.range.text()));
}

// Without do_sample the likeliest token is taken, as in transformers' GenerationConfig.
void read_hf(const Json& json, GenerationConfig& config) {
  const auto do_sample = json.find("do_sample");
  if (do_sample != json.end() && do_sample->is_boolean() && !do_sample->get<bool>()) {
    config.sampling.temperature = 0;
    return;
  }
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const auto found = parameter.hf_key.empty() ? json.end() : json.find(std::string(parameter.hf_key));
    if (found == json.end() || found->is_null()) continue;
    const std::string where = fmt::format("generation_config.json: {}", parameter.hf_key);
    if (found->is_number()) {
      recommend(parameter, found->get<double>(), where, config);
    } else {
      config.notes.push_back(fmt::format("{}: {} is left out: expected a number", where, found->dump()));
    }
  }
}

// The samplers have the names of llama.cpp's --samplers.
void read_samplers(const Metadata& metadata, const std::string& file, GenerationConfig& config) {
  constexpr const char* kKey = "general.sampling.sequence";
  const auto samplers = metadata.get_string(kKey);
  if (!samplers.ok()) {
    config.notes.push_back(fmt::format("{}: {} is left out: {}", file, kKey, samplers.error().message));
    return;
  }
  if (!*samplers || (*samplers)->empty()) return;
  SamplingParams params = config.sampling;
  auto order = samplers_of_list(**samplers);
  if (order.ok()) params.samplers = std::move(*order);
  const Status status = order.ok() ? validate(params, UINT32_MAX) : Status(order.error());
  if (status.ok()) {
    config.sampling = std::move(params);
  } else {
    config.notes.push_back(fmt::format("{}: {} is left out: {}", file, kKey, status.error().message));
  }
}

void read_gguf(const Metadata& metadata, const std::string& file, GenerationConfig& config) {
  read_samplers(metadata, file, config);
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (parameter.gguf_key.empty()) continue;
    const std::string key = fmt::format("general.sampling.{}", parameter.gguf_key);
    const auto given = metadata.get_double(key);
    if (!given.ok()) {
      config.notes.push_back(fmt::format("{}: {} is left out: {}", file, key, given.error().message));
    } else if (*given) {
      recommend(parameter, **given, fmt::format("{}: {}", file, key), config);
    }
  }
}

Status read_ends(const ModelFile& file, const text::Tokenizer& tokenizer, const EndSettings& changes,
                 GenerationConfig& config) {
  RZ_TRY(const EndClaims claims, read_end_claims(file));
  text::EndTokens ends = text::EndTokens::united(tokenizer, claims.claims);
  // In a folder, the claim's source already names the file.
  const std::string where = file.format() == FileFormat::kGguf ? file.path().filename().string() + ": " : "";
  for (const auto* notes : {&claims.notes, &ends.notes()}) {
    for (const std::string& note : *notes) config.notes.push_back(where + note);
  }
  const size_t n_told = ends.notes().size();
  for (const std::string& piece : changes.ends) RZ_CHECK_OK(ends.add(piece, "ends"));
  for (const std::string& piece : changes.no_ends) RZ_CHECK_OK(ends.remove(piece, "no_ends"));
  config.ends = ends.ends();
  for (const text::EndToken& end : config.ends) config.end_tokens.push_back(end.id);
  for (size_t i = n_told; i < ends.notes().size(); ++i) config.notes.push_back(ends.notes()[i]);
  return {};
}

}  // namespace

Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer,
                                                const EndSettings& changes) {
  GenerationConfig config;
  RZ_CHECK_OK(read_ends(file, tokenizer, changes, config));
  if (file.format() == FileFormat::kGguf) {
    const auto n_tokens = static_cast<size_t>(tokenizer.n_vocab());
    const std::string name = file.path().filename().string();
    for (const std::string& note : notes_of_special_ids(file.metadata(), n_tokens)) {
      config.notes.push_back(fmt::format("{}: {}", name, note));
    }
    read_gguf(file.metadata(), name, config);
    return config;
  }
  RZ_TRY(const SideFiles side, file.side_files());
  if (!side.generation_config_json) return config;
  const Json json = Json::parse(*side.generation_config_json, nullptr, false);
  if (!json.is_object()) {
    return format_error(file.path().string() + ": generation_config.json: expected a JSON object",
                        "generation_config.json");
  }
  read_hf(json, config);
  return config;
}

Result<uint32_t> apply_ollama_params(std::string_view params, GenerationConfig& config, WrongParams wrong) {
  constexpr uint32_t kMaxContext = 1u << 30;
  const Json json = params.empty() ? Json::object() : Json::parse(params, nullptr, false);
  if (!json.is_object()) return format_error("the model's parameters are not a JSON object", "params");
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const auto found = json.find(std::string(parameter.name));
    if (found == json.end()) continue;
    const bool is_none = parameter.minus_one_is_zero && *found == -1;
    const Status status =
        found->is_number()
            ? set_sampling_parameter(config.sampling, parameter.name, is_none ? 0 : found->get<double>())
            : invalid_argument(fmt::format("{}: expected a number, actual {}", parameter.name, found->dump()));
    if (status.ok()) continue;
    if (wrong == WrongParams::kError) {
      return format_error("the model's parameters: " + status.error().message, "params");
    }
    config.notes.push_back("the model's parameters (params): left out: " + status.error().message);
  }
  if (const auto stop = json.find("stop"); stop != json.end()) {
    config.stop.clear();
    for (const Json& text : stop->is_array() ? *stop : Json::array({*stop})) {
      if (text.is_string() && !text.get_ref<const std::string&>().empty())
        config.stop.push_back(text.get<std::string>());
    }
  }
  const auto n_ctx = json.find("num_ctx");
  if (n_ctx != json.end() && !n_ctx->is_number_unsigned()) {
    config.notes.push_back(fmt::format(
        "the model's parameters (params): left out: num_ctx: expected a number of tokens, actual {}", n_ctx->dump()));
  }
  if (n_ctx == json.end() || !n_ctx->is_number_unsigned()) return 0u;
  return static_cast<uint32_t>(std::min<uint64_t>(n_ctx->get<uint64_t>(), kMaxContext));
}

}  // namespace realizar
