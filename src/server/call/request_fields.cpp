#include "server/call/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "api/grammar_constraint.h"
#include "base/printable.h"
#include "base/try.h"
#include "engine/adapters.h"
#include "engine/engine.h"
#include "engine/prefixes.h"
#include "sampling/chain.h"
#include "sampling/sampler.h"
#include "sampling/sampler_names.h"
#include "server/call/chat_prompt.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxStops = 64;
constexpr size_t kMaxBiases = 4096;
constexpr const char* kBiasField = "logit_bias";
constexpr size_t kMaxBadWords = 256, kMaxBadWordBytes = 200;

std::mt19937_64& random_bits() {
  thread_local std::mt19937_64 bits{std::random_device{}()};
  return bits;
}

// Reports the client's name of the field.
void check_range(Fields& fields, const char* field, const SamplingParameter& parameter, double value) {
  if (fields.any(field) == nullptr || parameter.range.has(value)) return;
  fields.fail(field, fmt::format("expected {}, actual {}", parameter.range.text(), value));
}

void read_parameter(Fields& fields, const char* field, const SamplingParameter& parameter, float& value) {
  if (const auto given = fields.number(field)) value = static_cast<float>(*given);
  check_range(fields, field, parameter, value);
}

void read_parameter(Fields& fields, const char* field, const SamplingParameter& parameter, int32_t& value) {
  const int64_t least = parameter.minus_one_is_zero ? -1 : static_cast<int64_t>(parameter.range.min);
  if (const auto given = fields.integer(field, least, INT32_MAX)) value = static_cast<int32_t>(*given);
  if (parameter.minus_one_is_zero) value = std::max(value, 0);
  check_range(fields, field, parameter, value);
}

void read_parameter(Fields& fields, const char* field, const SamplingParameter&, uint64_t& value) {
  value = fields.seed(field).value_or(value);
}

std::optional<std::vector<std::string>> read_texts(Fields& fields, const char* name) {
  const Json* list = fields.array(name);
  auto texts = list == nullptr ? std::nullopt : texts_of(*list);
  if (list != nullptr && !texts) fields.fail(name, "expected an array of strings");
  return texts;
}

// ["top_k", "temperature"], or "kt".
Status read_samplers(Fields& fields, const char* name, GenerationReading& into) {
  SamplingParams& params = into.generation.request.sampling;
  const Json& samplers = *fields.any(name);
  if (samplers.is_string()) {
    RZ_TRY(params.samplers, samplers_of_letters(samplers.get_ref<const std::string&>()));
  } else if (const auto names = read_texts(fields, name)) {
    RZ_TRY(params.samplers, samplers_of_names(*names));
  }
  return fields.status();
}

Status read_breakers(Fields& fields, const char* name, GenerationReading& into) {
  const auto texts = read_texts(fields, name);
  if (!texts) return fields.status();
  RZ_TRY(into.generation.request.sampling.dry_breakers, into.model.loaded->breakers->of(*texts));
  return {};
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The ids that a number or a text refers to.
Result<std::vector<TokenId>> biased_ids(const Json& key, bool text_may_be_id, const ServedModel& model) {
  if (const auto id = token_id_of(key)) return std::vector{TokenId{*id}};
  if (!key.is_string()) return wrong(kBiasField, "expected token ids or texts to be biased");
  const auto& text = key.get_ref<const std::string&>();
  if (text_may_be_id && is_whole_number(text)) {
    int32_t id = -1;
    const bool is_read = std::from_chars(text.data(), text.data() + text.size(), id).ec == std::errc();
    if (!is_read || id < 0) return wrong(kBiasField, fmt::format("expected token ids, actual '{}'", shown(text)));
    return std::vector{TokenId{id}};
  }
  if (text.size() > max_text_bytes(model)) return wrong(kBiasField, "a text is too long");
  return model.tokenizer().encode(text, {.add_special = false, .parse_special = false});
}

Status add_bias(const Json& key, bool text_may_be_id, const Json& value, GenerationReading& into) {
  RZ_TRY(const auto ids, biased_ids(key, text_may_be_id, into.model));
  const bool is_never = value.is_boolean() && !value.get<bool>();
  const bool is_bias = value.is_number() && value.get<double>() >= -100 && value.get<double>() <= 100;
  if (!is_never && !is_bias) {
    return wrong(kBiasField, fmt::format("expected numbers from -100 to 100 or false, actual {}", shown(dump(value))));
  }
  for (const TokenId id : ids) {
    if (is_never) into.generation.rules.bad_words.push_back({id});
    if (is_bias) into.generation.request.sampling.logit_bias.emplace_back(id, value.get<float>());
  }
  return {};
}

// {"ID or TEXT": BIAS} from OpenAI's clients, or llama.cpp's [[ID or TEXT, BIAS]]. BIAS is a number, or `false`, which
// excludes the token; each token of a text is biased. A key that is a whole number is an id. Repeated tokens add up
// their biases.
Status read_biases(Fields& fields, const char* name, GenerationReading& into) {
  const Json& given = *fields.any(name);
  if (!given.is_object() && !given.is_array()) return wrong(name, "expected an object or an array of pairs");
  if (given.size() > kMaxBiases) return wrong(name, fmt::format("expected at most {} biases", kMaxBiases));
  into.generation.request.sampling.logit_bias.clear();
  if (given.is_object()) {
    for (const auto& [key, value] : given.items()) RZ_CHECK_OK(add_bias(key, true, value, into));
    return {};
  }
  for (const Json& pair : given) {
    if (!pair.is_array() || pair.size() != 2) return wrong(name, "expected pairs of a token and its bias");
    RZ_CHECK_OK(add_bias(pair[0], false, pair[1], into));
  }
  return {};
}

Status read_stop_tokens(const Json& ids, const char* name, GenerationReading& into) {
  for (const Json& id : ids) {
    const auto token = token_id_of(id);
    if (!token) return wrong(name, "expected an array of token ids");
    into.generation.request.stop_tokens.push_back(TokenId{*token});
  }
  return {};
}

Status read_allowed_tokens(const Json& ids, const char* name, GenerationReading& into) {
  RZ_TRY(into.generation.rules.allowed, read_token_ids(ids, name, "an array of token ids", into.model));
  return ids.empty() ? wrong(name, "expected at least one token id") : Status();
}

// Each word in two forms: at the beginning of a text, and after a space.
Status read_bad_words(const Json& words, const char* name, GenerationReading& into) {
  if (words.size() > kMaxBadWords) return wrong(name, fmt::format("expected at most {} strings", kMaxBadWords));
  for (const Json& word : words) {
    const bool is_word =
        word.is_string() && !is_empty_text(word) && word.get_ref<const std::string&>().size() <= kMaxBadWordBytes;
    if (!is_word) return wrong(name, fmt::format("expected an array of strings of 1 to {} bytes", kMaxBadWordBytes));
    for (const char* before : {"", " "}) {
      const std::string text = before + word.get<std::string>();
      auto tokens = into.model.tokenizer().encode(text, {.add_special = false, .parse_special = false});
      if (!tokens.empty()) into.generation.rules.bad_words.push_back(std::move(tokens));
    }
  }
  return {};
}

void shorten_timeout(uint32_t timeout_ms, Request& request) {
  request.timeout_ms = std::min(request.timeout_ms.value_or(timeout_ms), timeout_ms);
}

Status read_timeout_ms(Fields& fields, const char* name, GenerationReading& into) {
  constexpr int64_t kMaxMs = 1'000'000'000;
  const auto timeout_ms = fields.integer(name, 1, kMaxMs);
  if (timeout_ms) shorten_timeout(static_cast<uint32_t>(*timeout_ms), into.generation.request);
  return fields.status();
}

Status read_timeout(Fields& fields, const char* name, GenerationReading& into) {
  const auto timeout_s = fields.number(name);
  if (!timeout_s) return fields.status();
  if (*timeout_s <= 0 || *timeout_s > 1e6) return fields.wrong(name, "expected seconds above 0");
  shorten_timeout(static_cast<uint32_t>(*timeout_s * 1e3), into.generation.request);
  return {};
}

Status read_cache_salt(Fields& fields, const char* name, GenerationReading& into) {
  const std::string named = fields.text(name).value_or("");
  into.generation.request.cache_salt = cache_salt_of(into.context.key, into.model, named);
  into.generation.cache_name = cache_name_of(into.context.key, named);
  return fields.status();
}

// For llama.cpp: the only item of the list [{id, scale}] with a scale other than 0, with ids as in GET /lora-adapters.
// An empty list, or one with only zeros: none. Without the field the request has the adapter of its model's name, or
// the default.
Status read_lora(Fields& fields, const char* name, GenerationReading& into) {
  RZ_TRY(const AdapterWish wish, read_adapter_list(*fields.any(name), name, into.model));
  Request& request = into.generation.request;
  if (request.adapter && !wish.name.empty() && *request.adapter != wish.name) {
    return wrong(name, fmt::format("the model's name asks for another adapter, '{}'", *request.adapter));
  }
  request.adapter = wish.name;
  if (!wish.name.empty()) request.adapter_scale = wish.scale;
  return {};
}

constexpr auto kGeneration = &GenerationReading::generation;
constexpr auto kRequest = &GenerationFields::request;

constexpr Field<GenerationReading> kCommonFields[] = {
    {"samplers", read_samplers},
    {"dry_sequence_breakers", read_breakers},
    {kBiasField, read_biases},
    {"stop_token_ids", of_list<read_stop_tokens>},
    {"min_tokens", take_whole<0, INT32_MAX, kGeneration, &GenerationFields::rules, &TokenRules::min_tokens>},
    {"allowed_token_ids", of_list<read_allowed_tokens>},
    {"bad_words", of_list<read_bad_words>},
    {"timeout_ms", read_timeout_ms},
    {"timeout", read_timeout},
    {"stream", take_flag<kGeneration, &GenerationFields::stream>},
    {"ignore_eos", take_flag<kGeneration, kRequest, &Request::ignore_eos>},
    {"id_slot", take_whole<-1, INT32_MAX, kGeneration, &GenerationFields::id_slot>},
    {"priority", take_whole<INT32_MIN, INT32_MAX, kGeneration, kRequest, &Request::priority>},
    {"cache_salt", read_cache_salt},
    {"lora", read_lora},
};

// Clients of llama.cpp and LM Studio send -1 for no limit, and -2 for the end of the context.
constexpr Field<GenerationReading> kOpenAiFields[] = {
    {"stop", read_stop},
    {"n_predict", read_max_tokens<-2>},
    {"max_tokens", read_max_tokens<-1>},
    {"max_completion_tokens", read_max_tokens<-1>},
    {"n", take_n<kGeneration>},
    {"stream_options", of_object<read_stream_options>},
};

}  // namespace

Result<AdapterWish> read_adapter_list(const Json& list, const std::string& field, const ServedModel& model) {
  constexpr size_t kMaxItems = 1024;
  const std::vector<AdapterInfo> adapters = model.loaded->engine->adapters().list();
  if (!list.is_array() || list.size() > kMaxItems) {
    return wrong(field, fmt::format("expected an array of at most {} objects", kMaxItems));
  }
  AdapterWish wish;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", field, i);
    if (!list[i].is_object()) return wrong(where, "expected an object with id and scale");
    Fields item(list[i], where + ".");
    const auto id = item.integer("id", 0, INT32_MAX);
    const auto scale = static_cast<float>(item.number("scale").value_or(0));
    if (!item.status().ok()) return item.status().error();
    if (!id || static_cast<size_t>(*id) >= adapters.size()) {
      return wrong(where + ".id", fmt::format("expected the id of one of {} adapters", adapters.size()));
    }
    if (scale == 0) continue;
    if (!wish.name.empty()) return unsupported(field + ": a request has one adapter, and this list has several", field);
    wish = {adapters[static_cast<size_t>(*id)].name, scale};
  }
  return wish;
}

std::string told_name(const RequestContext& context, const ServedModel& model) {
  return context.adapter.empty() ? model.id : adapted_name(model.id, context.adapter);
}

Json parameter_json(const SamplingParameter& parameter, const SamplingParams& params) {
  return visit_parameter(parameter, params, [](auto value) -> Json {
    if constexpr (std::is_same_v<decltype(value), float>) return decimal(value);
    return value;
  });
}

Json sampling_json(const SamplingParams& params) {
  Json json;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    json[std::string(parameter.name)] = parameter_json(parameter, params);
  }
  return json;
}

Json generation_settings(const GenerationFields& fields) {
  const Request& request = fields.request;
  Json json = sampling_json(request.sampling), biases = Json::array();
  for (const auto& [id, bias] : request.sampling.logit_bias) {
    biases.push_back({{"token", to_index(id)}, {"bias", decimal(bias)}});
  }
  const int64_t n_predict = request.max_tokens ? int64_t{*request.max_tokens} : -1;
  json.update(Json{{"stop", fields.stop},
                   {"max_tokens", n_predict},
                   {"n_predict", n_predict},
                   {"n_keep", 0},
                   {"n_discard", 0},
                   {"ignore_eos", request.ignore_eos},
                   {"stream", fields.stream},
                   {"logit_bias", std::move(biases)},
                   {"n_probs", request.n_logprobs},
                   {"min_keep", 0},
                   {"samplers", names_of(order_of(request.sampling))}});
  return json;
}

Result<std::vector<TokenId>> read_token_ids(const Json& ids, const char* name, const char* what,
                                            const ServedModel& model) {
  const uint32_t n_vocab = model.loaded->info.n_vocab;
  std::vector<TokenId> tokens;
  for (const Json& id : ids) {
    const auto token = token_id_of(id);
    if (!token || static_cast<uint32_t>(*token) >= n_vocab) {
      return wrong(name, fmt::format("expected {} below {}", what, n_vocab));
    }
    tokens.push_back(TokenId{*token});
  }
  return tokens;
}

Result<std::shared_ptr<TokenConstraint>> constraint_of(const AnswerForm& form, const ServedModel& model) {
  RZ_TRY(auto masks, masks_of(form, *model.loaded->grammars));
  if (masks == nullptr) return std::shared_ptr<TokenConstraint>();
  return make_constraint(std::move(masks), model.tokenizer(), model.loaded->generation_config.end_tokens, {});
}

Status constrain_text(const Json& body, GenerationFields& generation, const ServedModel& model) {
  RZ_TRY(const AnswerForm form, read_answer_form(body));
  RZ_TRY(auto constraint, constraint_of(form, model));
  generation.request.constraint = with_rules(std::move(constraint), generation.rules, model.loaded->info.n_vocab);
  return {};
}

std::string cache_name_of(const KeyDigest& key, std::string_view named) {
  std::string name(reinterpret_cast<const char*>(key.data()), key.size());
  name += named;
  return name;
}

uint64_t cache_salt_of(const KeyDigest& key, const ServedModel& model, std::string_view named) {
  return model.loaded->engine->prefixes().salt_of(cache_name_of(key, named));
}

GenerationReading::GenerationReading(const ServedModel& served, const RequestContext& asked)
    : model(served), context(asked) {
  Request& request = generation.request;
  request.sampling = model.loaded->generation_config.sampling;
  unnamed_seed = model.defaults->seed ? *model.defaults->seed : random_number();
  request.sampling.seed = unnamed_seed;
  generation.stop = model.loaded->generation_config.stop;
  if (context.request_timeout_ms > 0) shorten_timeout(context.request_timeout_ms, request);
  request.cache_salt = cache_salt_of(context.key, model);
  generation.cache_name = cache_name_of(context.key);
  request.tenant = context.tenant;
  if (!context.adapter.empty()) request.adapter = context.adapter;
  if (context.adapter_scale != 0) request.adapter_scale = context.adapter_scale;
}

Status GenerationReading::finish_generation() {
  Request& request = generation.request;
  TokenRules& rules = generation.rules;
  auto& max_tokens = request.max_tokens;
  const auto most = model.defaults->max_tokens;
  if (most) max_tokens = std::min(max_tokens.value_or(*most), *most);
  if (max_tokens && rules.min_tokens > *max_tokens) {
    return wrong("min_tokens",
                 fmt::format("expected at most max_tokens, {}, actual {}", *max_tokens, rules.min_tokens));
  }
  rules.ends = request.stop_tokens;
  if (!request.ignore_eos) {
    const auto& ends = model.loaded->generation_config.end_tokens;
    rules.ends.insert(rules.ends.end(), ends.begin(), ends.end());
  }
  return validate(request.sampling, model.loaded->info.n_vocab);
}

// Each row of the parameters' table is a field here.
Status read_sampling(Fields& body, GenerationReading& into) {
  for (const SamplingParameter& parameter : kSamplingParameters) {
    visit_parameter(parameter, into.generation.request.sampling, [&](auto& value) {
      for (const std::string_view field : {parameter.other_field, parameter.name}) {
        if (!field.empty()) read_parameter(body, std::string(field).c_str(), parameter, value);
      }
    });
  }
  return body.status();
}

Status read_common_fields(Fields& body, GenerationReading& into) {
  RZ_CHECK_OK(read_sampling(body, into));
  return read_fields(kCommonFields, body, into);
}

KnownFields common_fields() {
  KnownFields known = known_in(kCommonFields);
  for (const SamplingParameter& parameter : kSamplingParameters) {
    known.push_back({parameter.name, true});
    if (!parameter.other_field.empty()) known.push_back({parameter.other_field, true});
  }
  return known;
}

Status read_generation_fields(Fields& body, GenerationReading& into) {
  RZ_CHECK_OK(read_common_fields(body, into));
  return read_fields(kOpenAiFields, body, into);
}

KnownFields generation_fields() {
  return known_in(kOpenAiFields, common_fields());
}

Status read_stop(Fields& body, const char* name, GenerationReading& into) {
  const Json& stop = *body.any(name);
  const Json list = stop.is_array() ? stop : Json::array({stop});
  if (list.size() > kMaxStops) return body.wrong(name, fmt::format("expected at most {} strings", kMaxStops));
  std::vector<std::string>& stops = into.generation.stop;
  stops.clear();
  for (const Json& text : list) {
    if (!text.is_string()) return body.wrong(name, "expected a string or an array of strings");
    if (!text.get_ref<const std::string&>().empty()) stops.push_back(text.get<std::string>());
  }
  return {};
}

Status read_limit(Fields& body, const char* name, int64_t least, GenerationReading& into) {
  const auto most = body.integer(name, least, INT32_MAX);
  if (!most) return body.status();
  into.generation.has_limit = true;
  into.generation.request.max_tokens = *most < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(*most));
  return {};
}

Status read_stream_options(Fields& options, GenerationReading& into) {
  into.generation.include_usage = options.boolean("include_usage").value_or(into.generation.include_usage);
  return {};
}

Request nth_request(const Request& request, uint32_t i) {
  Request nth = request;
  nth.sampling.seed += uint64_t{i} * 0x9E3779B97F4A7C15u;
  if (nth.constraint) nth.constraint = nth.constraint->clone();
  return nth;
}

uint64_t random_number() {
  return random_bits()();
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
