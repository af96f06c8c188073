#include "server/llama_fields.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "base/try.h"
#include "server/chat_prompt.h"
#include "server/generation_settings.h"
#include "server/text_request.h"

namespace realizar::server {
namespace {

constexpr int64_t kMaxProbs = 100;
constexpr size_t kMaxBiases = 4096;
constexpr uint64_t kSeeds = uint64_t{1} << 32;

// Biases of ids, and tokens that never come.
struct Biases {
  Json by_id = Json::object();
  std::vector<TokenId> never;
};

std::optional<int32_t> id_in(const std::string& text) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_id = error == std::errc() && end == text.data() + text.size() && id >= 0;
  return is_id ? std::optional(id) : std::nullopt;
}

// The ids that are meant by a number, or by a text.
Result<std::vector<TokenId>> biased_ids(const Json& key, bool text_may_be_id, const ServedModel& model) {
  if (const auto id = token_id_of(key)) return std::vector{TokenId{*id}};
  if (!key.is_string()) return wrong("logit_bias", "expected token ids or texts to be biased");
  const auto& text = key.get_ref<const std::string&>();
  if (const auto id = text_may_be_id ? id_in(text) : std::nullopt) return std::vector{TokenId{*id}};
  if (text.size() > max_text_bytes(model)) return wrong("logit_bias", "a text is too long");
  return model.tokenizer().encode(text, {.add_special = false, .parse_special = false});
}

Status add_bias(const Json& key, bool text_may_be_id, const Json& bias, const ServedModel& model, Biases& biases) {
  RZ_TRY(const auto ids, biased_ids(key, text_may_be_id, model));
  const bool is_never = bias.is_boolean() && !bias.get<bool>();
  if (!is_never && !bias.is_number()) return wrong("logit_bias", "expected numbers or false as biases");
  for (const TokenId id : ids) {
    if (is_never) biases.never.push_back(id);
    if (!is_never) biases.by_id[std::to_string(to_index(id))] = bias;
  }
  return {};
}

Result<Biases> read_biases(const Json& given, const ServedModel& model) {
  Biases biases;
  if (given.size() > kMaxBiases) return wrong("logit_bias", "expected at most 4096 biases");
  if (given.is_object()) {
    for (const auto& [key, bias] : given.items()) RZ_CHECK_OK(add_bias(key, true, bias, model, biases));
    return biases;
  }
  if (!given.is_array()) return wrong("logit_bias", "expected an object or an array of pairs");
  for (const Json& pair : given) {
    if (!pair.is_array() || pair.size() != 2) return wrong("logit_bias", "expected pairs of a token and its bias");
    RZ_CHECK_OK(add_bias(pair[0], false, pair[1], model, biases));
  }
  return biases;
}

// The fields that read_generation_fields() knows by another name or in another form.
Result<Json> with_common_names(const Json& body, const ServedModel& model, std::vector<TokenId>& never) {
  Json common = body;
  if (const auto seed = common.find("seed"); seed != common.end() && (*seed == -1 || *seed == kSeeds - 1)) {
    common.erase(seed);
  }
  if (const auto n = common.find("n_cmpl"); n != common.end()) common["n"] = Json(*n);
  if (const auto given = common.find("logit_bias"); given != common.end() && !given->is_null()) {
    RZ_TRY(Biases biases, read_biases(*given, model));
    common["logit_bias"] = std::move(biases.by_id);
    never = std::move(biases.never);
  }
  return common;
}

uint32_t read_count(Fields& fields, const char* name, int64_t most = INT32_MAX) {
  return static_cast<uint32_t>(fields.integer(name, 0, most).value_or(0));
}

// Probabilities of the chain's candidates would need the chain.
void read_probabilities(Fields& fields, Request& request) {
  request.n_logprobs = read_count(fields, "n_probs", kMaxProbs);
  request.logprobs = request.n_logprobs > 0;
  const bool is_after_chain = fields.boolean("post_sampling_probs").value_or(false);
  if (is_after_chain && request.logprobs) {
    fields.fail("post_sampling_probs", "only probabilities before the sampler chain can be told");
  }
}

void read_response_fields(Fields& fields, std::vector<std::string>& names) {
  const Json* given = fields.array("response_fields");
  if (given == nullptr) return;
  for (const Json& name : *given) {
    if (!name.is_string()) return fields.fail("response_fields", "expected an array of strings");
    names.push_back(name.get<std::string>());
  }
}

// A seed that nobody named has 32 bits, so that every client can send back the one that it is told.
void shorten_random_seed(const Json& body, SamplingParams& sampling) {
  const auto seed = body.find("seed");
  if (seed == body.end() || seed->is_null()) sampling.seed %= kSeeds;
}

uint64_t nobodys_salt() {
  thread_local std::mt19937_64 bits{std::random_device{}()};
  return bits();
}

}  // namespace

Result<LlamaFields> read_llama_fields(const Json& body, const ServedModel& model, const Call& call) {
  std::vector<TokenId> never;
  RZ_TRY(const Json common, with_common_names(body, model, never));
  Fields fields(common);
  LlamaFields read;
  RZ_TRY(read.generation, read_generation_fields(fields, model, call));
  Request& request = read.generation.request;
  shorten_random_seed(common, request.sampling);
  read_probabilities(fields, request);
  read_response_fields(fields, read.response_fields);
  read.lines.n_indent = read_count(fields, "n_indent");
  read.lines.max_ms = read_count(fields, "t_max_predict_ms");
  read.id_slot = fields.integer("id_slot", -1, INT32_MAX).value_or(-1);
  read.return_tokens = fields.boolean("return_tokens").value_or(false);
  read.extras = read_answer_extras(fields);
  const int64_t n_keep = fields.integer("n_keep", -1, INT32_MAX).value_or(0);
  const bool uses_cache = fields.boolean("cache_prompt").value_or(true);
  if (!fields.status().ok()) return fields.status().error();
  if (!uses_cache) request.cache_salt = nobodys_salt();
  for (const TokenId id : never) read.generation.rules.bad_words.push_back({id});
  RZ_TRY(request.constraint, read_text_constraint(fields, read.generation.rules, model));
  read.settings = generation_settings(read.generation);
  read.settings.update(Json{{"n_keep", n_keep},
                            {"n_indent", read.lines.n_indent},
                            {"t_max_predict_ms", read.lines.max_ms},
                            {"grammar", common.value("grammar", Json(""))},
                            {"timings_per_token", read.extras.timings},
                            {"post_sampling_probs", false},
                            {"lora", Json::array()}});
  return read;
}

}  // namespace realizar::server
