#include "api/generation_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace realizar {
namespace {

using Json = nlohmann::json;

void add_end_token(std::vector<TokenId>& tokens, int64_t id, const text::Tokenizer& tokenizer) {
  if (id < 0 || id >= tokenizer.n_vocab()) return;
  const TokenId token{static_cast<int32_t>(id)};
  if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
}

template <class T>
void take_number(const Json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) value = found->get<T>();
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
  take_number(json, "temperature", s.temperature);
  take_number(json, "top_k", s.top_k);
  take_number(json, "top_p", s.top_p);
  take_number(json, "min_p", s.min_p);
  take_number(json, "typical_p", s.typical_p);
  take_number(json, "repetition_penalty", s.repeat_penalty);
}

Status read_gguf(const Metadata& metadata, SamplingParams& s) {
  const auto take = [&metadata](const char* key, auto& value) -> Status {
    RZ_TRY(const auto given, metadata.get_double(std::string("general.sampling.") + key));
    if (given) value = static_cast<std::remove_reference_t<decltype(value)>>(*given);
    return {};
  };
  RZ_CHECK_OK(take("temp", s.temperature));
  RZ_CHECK_OK(take("top_k", s.top_k));
  RZ_CHECK_OK(take("top_p", s.top_p));
  RZ_CHECK_OK(take("min_p", s.min_p));
  RZ_CHECK_OK(take("penalty_last_n", s.repeat_last_n));
  return take("penalty_repeat", s.repeat_penalty);
}

}  // namespace

Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer) {
  GenerationConfig config;
  config.end_tokens.assign(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end());
  if (file.format() == FileFormat::kGguf) {
    RZ_CHECK_OK(read_gguf(file.metadata(), config.sampling));
    return config;
  }
  RZ_TRY(const SideFiles side, file.side_files());
  if (!side.generation_config_json) return config;
  const Json json = Json::parse(*side.generation_config_json, nullptr, false);
  if (!json.is_object()) {
    return format_error(file.path().string() + ": generation_config.json: expected a JSON object",
                        "generation_config.json");
  }
  read_hf(json, tokenizer, config);
  return config;
}

}  // namespace realizar
