#include "api/generation_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "sampling/parameters.h"
#include "sampling/sampler.h"
#include "sampling/sampler_names.h"

namespace realizar {
namespace {

using Json = nlohmann::json;

void add_end_token(std::vector<TokenId>& tokens, int64_t id, const text::Tokenizer& tokenizer) {
  if (id < 0 || id >= tokenizer.n_vocab()) return;
  const TokenId token{static_cast<int32_t>(id)};
  if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
}

// Rounds towards what T can hold; whether the value makes sense is checked with the rest of the parameters.
template <class T>
T saturated(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return T{};
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

void set_number(SamplingParams& params, const SamplingParameter& parameter, double value) {
  visit_parameter(parameter, params,
                  [value](auto& member) { member = saturated<std::remove_reference_t<decltype(member)>>(value); });
}

// transformers, GenerationConfig: without do_sample the likeliest token is taken.
void read_hf(const Json& json, const text::Tokenizer& tokenizer, GenerationConfig& config) {
  if (const auto eos = json.find("eos_token_id"); eos != json.end()) {
    if (eos->is_number_integer()) add_end_token(config.end_tokens, eos->get<int64_t>(), tokenizer);
    if (eos->is_array()) {
      for (const Json& id : *eos) {
        if (id.is_number_integer()) add_end_token(config.end_tokens, id.get<int64_t>(), tokenizer);
      }
    }
  }
  SamplingParams& s = config.sampling;
  const auto do_sample = json.find("do_sample");
  if (do_sample != json.end() && do_sample->is_boolean() && !do_sample->get<bool>()) {
    s.temperature = 0;
    return;
  }
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const auto found = parameter.hf_key.empty() ? json.end() : json.find(std::string(parameter.hf_key));
    if (found != json.end() && found->is_number()) set_number(s, parameter, found->get<double>());
  }
}

// The samplers are named as llama.cpp's --samplers names them.
Status read_gguf(const Metadata& metadata, SamplingParams& s) {
  RZ_TRY(const auto samplers, metadata.get_string("general.sampling.sequence"));
  if (samplers && !samplers->empty()) {
    auto order = samplers_of_list(*samplers);
    if (!order.ok()) return format_error("general.sampling.sequence: " + order.error().message, "samplers");
    s.samplers = std::move(*order);
  }
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (parameter.gguf_key.empty()) continue;
    RZ_TRY(const auto given, metadata.get_double("general.sampling." + std::string(parameter.gguf_key)));
    if (given) set_number(s, parameter, *given);
  }
  return {};
}

// A recommendation that no request could make is the file's error.
Result<GenerationConfig> checked(GenerationConfig config, const text::Tokenizer& tokenizer) {
  if (auto status = validate(config.sampling, static_cast<uint32_t>(tokenizer.n_vocab())); !status.ok()) {
    return format_error("recommended sampling: " + status.error().message, status.error().subject);
  }
  return config;
}

}  // namespace

Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer) {
  GenerationConfig config;
  config.end_tokens.assign(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end());
  if (file.format() == FileFormat::kGguf) {
    RZ_CHECK_OK(read_gguf(file.metadata(), config.sampling));
    return checked(config, tokenizer);
  }
  RZ_TRY(const SideFiles side, file.side_files());
  if (!side.generation_config_json) return config;
  const Json json = Json::parse(*side.generation_config_json, nullptr, false);
  if (!json.is_object()) {
    return format_error(file.path().string() + ": generation_config.json: expected a JSON object",
                        "generation_config.json");
  }
  read_hf(json, tokenizer, config);
  return checked(config, tokenizer);
}

Result<uint32_t> apply_ollama_params(std::string_view params, GenerationConfig& config) {
  constexpr uint32_t kMaxContext = 1u << 30;
  const Json json = params.empty() ? Json::object() : Json::parse(params, nullptr, false);
  if (!json.is_object()) return format_error("the model's parameters are no JSON object", "params");
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const auto found = json.find(std::string(parameter.name));
    if (found == json.end() || !found->is_number()) continue;
    const Status status = set_sampling_parameter(config.sampling, parameter.name, found->get<double>());
    if (!status.ok()) return format_error("the model's parameters: " + status.error().message, "params");
  }
  if (const auto stop = json.find("stop"); stop != json.end()) {
    config.stop.clear();
    for (const Json& text : stop->is_array() ? *stop : Json::array({*stop})) {
      if (text.is_string() && !text.get_ref<const std::string&>().empty())
        config.stop.push_back(text.get<std::string>());
    }
  }
  const auto n_ctx = json.find("num_ctx");
  if (n_ctx == json.end() || !n_ctx->is_number_unsigned()) return 0u;
  return static_cast<uint32_t>(std::min<uint64_t>(n_ctx->get<uint64_t>(), kMaxContext));
}

}  // namespace realizar
