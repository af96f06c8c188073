#include "server/call/request_fields.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "base/printable.h"
#include "base/try.h"
#include "sampling/parameters.h"
#include "sampling/sampler_names.h"
#include "server/call/adapter_fields.h"
#include "server/call/logit_bias.h"

namespace realizar::server {
namespace {

constexpr uint32_t kMaxChoices = 128;
constexpr size_t kMaxStops = 64;
constexpr size_t kMaxBadWords = 256, kMaxBadWordBytes = 200;

std::mt19937_64& random_bits() {
  thread_local std::mt19937_64 bits{std::random_device{}()};
  return bits;
}

template <class T, class V>
void take(T& target, const std::optional<V>& value) {
  if (value) target = static_cast<T>(*value);
}

// Under the name that the client has for it.
void check_range(Fields& fields, const char* field, const SamplingParameter& parameter, double value) {
  if (fields.any(field) == nullptr || parameter.range.has(value)) return;
  fields.fail(field, fmt::format("expected {}, actual {}", parameter.range.text(), value));
}

void read_parameter(Fields& fields, const char* field, const SamplingParameter& parameter, float& value) {
  take(value, fields.number(field));
  check_range(fields, field, parameter, value);
}

void read_parameter(Fields& fields, const char* field, const SamplingParameter& parameter, int32_t& value) {
  const int64_t least = parameter.minus_one_is_zero ? -1 : static_cast<int64_t>(parameter.range.min);
  take(value, fields.integer(field, least, INT32_MAX));
  if (parameter.minus_one_is_zero) value = std::max(value, 0);
  check_range(fields, field, parameter, value);
}

void read_parameter(Fields& fields, const char* field, const SamplingParameter& parameter, uint64_t& value) {
  static_cast<void>(parameter);
  take(value, fields.seed(field));
}

// What is absent keeps its value, but that each request has a seed of its own where the server has none for all.
void read_sampling(Fields& fields, const RequestDefaults& defaults, SamplingParams& params) {
  params.seed = defaults.seed ? *defaults.seed : random_bits()();
  for (const SamplingParameter& parameter : kSamplingParameters) {
    visit_parameter(parameter, params, [&](auto& value) {
      for (const std::string_view field : {parameter.other_field, parameter.name}) {
        if (!field.empty()) read_parameter(fields, std::string(field).c_str(), parameter, value);
      }
    });
  }
}

std::optional<std::vector<std::string>> read_texts(Fields& fields, const char* name) {
  const Json* list = fields.array(name);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& text : *list) {
    if (!text.is_string()) {
      fields.fail(name, "expected an array of strings");
      return std::nullopt;
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// ["top_k", "temperature"], or "kt".
Status read_samplers(Fields& fields, SamplingParams& params) {
  const Json* samplers = fields.any("samplers");
  if (samplers != nullptr && samplers->is_string()) {
    RZ_TRY(params.samplers, samplers_of_letters(samplers->get_ref<const std::string&>()));
  } else if (const auto names = read_texts(fields, "samplers")) {
    RZ_TRY(params.samplers, samplers_of_names(*names));
  }
  return {};
}

Status read_breakers(Fields& fields, const ServedModel& model, SamplingParams& params) {
  const auto texts = read_texts(fields, "dry_sequence_breakers");
  if (!texts) return {};
  RZ_TRY(params.dry_breakers, model.loaded->breakers->of(*texts));
  return {};
}

// What repeats a token adds to its bias.
Status read_biases(const Fields& fields, const ServedModel& model, GenerationFields& generation) {
  const Json* given = fields.any("logit_bias");
  if (given == nullptr) return {};
  RZ_TRY(LogitBias bias, read_logit_bias(*given, model));
  generation.request.sampling.logit_bias = std::move(bias.added);
  for (const TokenId id : bias.never) generation.rules.bad_words.push_back({id});
  return {};
}

void read_stop(Fields& fields, const ServedModel& model, GenerationFields& generation) {
  const Json* stop = fields.any("stop");
  if (stop == nullptr) {
    generation.stop = model.loaded->generation_config.stop;
    return;
  }
  const Json list = stop->is_array() ? *stop : Json::array({*stop});
  if (list.size() > kMaxStops) return fields.fail("stop", fmt::format("expected at most {} strings", kMaxStops));
  for (const Json& text : list) {
    if (!text.is_string()) return fields.fail("stop", "expected a string or an array of strings");
    if (!text.get_ref<const std::string&>().empty()) generation.stop.push_back(text.get<std::string>());
  }
}

void read_stop_tokens(Fields& fields, Request& request) {
  const Json* ids = fields.array("stop_token_ids");
  if (ids == nullptr) return;
  for (const Json& id : *ids) {
    const auto token = token_id_of(id);
    if (!token) return fields.fail("stop_token_ids", "expected an array of token ids");
    request.stop_tokens.push_back(TokenId{*token});
  }
}

// llama.cpp's and LM Studio's clients say -1 for no limit, and -2 for the end of the context.
void read_max_tokens(Fields& fields, const RequestDefaults& defaults, GenerationFields& generation) {
  static constexpr std::pair<const char*, int64_t> kNames[] = {
      {"n_predict", -2}, {"max_tokens", -1}, {"max_completion_tokens", -1}};
  std::optional<uint32_t>& max_tokens = generation.request.max_tokens;
  for (const auto& [name, least] : kNames) {
    const auto most = fields.integer(name, least, INT32_MAX);
    if (!most) continue;
    generation.has_limit = true;
    max_tokens = *most < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(*most));
  }
  if (defaults.max_tokens) max_tokens = std::min(max_tokens.value_or(*defaults.max_tokens), *defaults.max_tokens);
  const auto min_tokens = fields.integer("min_tokens", 0, INT32_MAX);
  if (min_tokens && max_tokens && *min_tokens > *max_tokens) {
    fields.fail("min_tokens", fmt::format("expected at most max_tokens, {}, actual {}", *max_tokens, *min_tokens));
  }
  take(generation.rules.min_tokens, min_tokens);
}

void read_allowed_tokens(Fields& fields, const ServedModel& model, TokenRules& rules) {
  const Json* ids = fields.array("allowed_token_ids");
  if (ids == nullptr) return;
  const uint32_t n_vocab = model.loaded->info.n_vocab;
  for (const Json& id : *ids) {
    const auto token = token_id_of(id);
    if (!token || static_cast<uint32_t>(*token) >= n_vocab) {
      return fields.fail("allowed_token_ids", fmt::format("expected an array of token ids below {}", n_vocab));
    }
    rules.allowed.push_back(TokenId{*token});
  }
  if (rules.allowed.empty()) fields.fail("allowed_token_ids", "expected at least one token id");
}

// Each word as a text begins with it, and as it comes after a space.
void read_bad_words(Fields& fields, const ServedModel& model, TokenRules& rules) {
  const Json* words = fields.array("bad_words");
  if (words == nullptr) return;
  if (words->size() > kMaxBadWords) {
    return fields.fail("bad_words", fmt::format("expected at most {} strings", kMaxBadWords));
  }
  for (const Json& word : *words) {
    const bool is_word = word.is_string() && !word.get_ref<const std::string&>().empty() &&
                         word.get_ref<const std::string&>().size() <= kMaxBadWordBytes;
    if (!is_word) {
      return fields.fail("bad_words", fmt::format("expected an array of strings of 1 to {} bytes", kMaxBadWordBytes));
    }
    for (const char* before : {"", " "}) {
      const std::string text = before + word.get<std::string>();
      auto tokens = model.tokenizer().encode(text, {.add_special = false, .parse_special = false});
      if (!tokens.empty()) rules.bad_words.push_back(std::move(tokens));
    }
  }
}

void read_timeout(Fields& fields, uint32_t most_ms, Request& request) {
  constexpr int64_t kMaxMs = 1'000'000'000;
  const auto shorten = [&request](uint32_t timeout_ms) {
    request.timeout_ms = std::min(request.timeout_ms.value_or(timeout_ms), timeout_ms);
  };
  if (most_ms > 0) shorten(most_ms);
  if (const auto timeout_ms = fields.integer("timeout_ms", 1, kMaxMs)) shorten(static_cast<uint32_t>(*timeout_ms));
  const auto timeout_s = fields.number("timeout");
  if (!timeout_s) return;
  if (*timeout_s <= 0 || *timeout_s > 1e6) return fields.fail("timeout", "expected seconds above 0");
  shorten(static_cast<uint32_t>(*timeout_s * 1e3));
}

}  // namespace

uint64_t cache_salt_of(const KeyDigest& key, const ServedModel& model, std::string_view named) {
  std::string name(reinterpret_cast<const char*>(key.data()), key.size());
  name += named;
  return model.loaded->engine->cache_salt_of(name);
}

Request pooled_request(std::vector<TokenId> prompt, Pooling pooling, const ServedModel& model,
                       const RequestContext& context) {
  Request request;
  request.prompt = std::move(prompt);
  request.pooling = pooling;
  if (!context.adapter.empty()) request.adapter = context.adapter;
  request.tenant = context.tenant;
  request.cache_salt = cache_salt_of(context.key, model);
  if (context.request_timeout_ms > 0) request.timeout_ms = context.request_timeout_ms;
  return request;
}

Result<GenerationFields> read_generation_fields(Fields& body, const ServedModel& model, const RequestContext& context) {
  GenerationFields generation;
  Request& request = generation.request;
  request.sampling = model.loaded->generation_config.sampling;
  read_sampling(body, *model.defaults, request.sampling);
  RZ_CHECK_OK(read_samplers(body, request.sampling));
  RZ_CHECK_OK(read_breakers(body, model, request.sampling));
  RZ_CHECK_OK(read_biases(body, model, generation));
  read_stop(body, model, generation);
  read_stop_tokens(body, request);
  read_max_tokens(body, *model.defaults, generation);
  read_allowed_tokens(body, model, generation.rules);
  read_bad_words(body, model, generation.rules);
  read_timeout(body, context.request_timeout_ms, request);
  take(generation.n, body.integer("n", 1, kMaxChoices));
  take(generation.stream, body.boolean("stream"));
  take(request.ignore_eos, body.boolean("ignore_eos"));
  take(generation.id_slot, body.integer("id_slot", -1, INT32_MAX));
  take(request.priority, body.integer("priority", INT32_MIN, INT32_MAX));
  generation.rules.ends = request.stop_tokens;
  if (!request.ignore_eos) {
    const auto& ends = model.loaded->generation_config.end_tokens;
    generation.rules.ends.insert(generation.rules.ends.end(), ends.begin(), ends.end());
  }
  request.cache_salt = cache_salt_of(context.key, model, body.text("cache_salt").value_or(""));
  request.tenant = context.tenant;
  RZ_CHECK_OK(read_adapter(body, model, context, request));
  if (const Json* options = body.object("stream_options")) {
    Fields stream_fields(*options, "stream_options.");
    take(generation.include_usage, stream_fields.boolean("include_usage"));
    if (!stream_fields.status().ok()) return stream_fields.status().error();
  }
  if (!body.status().ok()) return body.status().error();
  RZ_CHECK_OK(validate(request.sampling, model.loaded->info.n_vocab));
  return generation;
}

Request nth_request(const Request& request, uint32_t i) {
  Request nth = request;
  nth.sampling.seed += uint64_t{i} * 0x9E3779B97F4A7C15u;
  if (nth.constraint) nth.constraint = nth.constraint->clone();
  return nth;
}

std::string random_id(const char* prefix) {
  static constexpr char kLetters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string id = prefix;
  std::uniform_int_distribution<size_t> letter(0, sizeof kLetters - 2);
  for (int i = 0; i < 24; ++i) id += kLetters[letter(random_bits())];
  return id;
}

int64_t unix_now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace realizar::server
