#include "server/dialects/llama/llama_fields.h"

#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/generation_settings.h"
#include "server/call/text_request.h"

namespace realizar::server {
namespace {

constexpr int64_t kMaxProbs = 100;
constexpr uint64_t kSeeds = uint64_t{1} << 32;

// The fields that read_generation_fields() knows by another name.
Json with_common_names(const Json& body) {
  Json common = body;
  if (const auto seed = common.find("seed"); seed != common.end() && (is_minus_one(*seed) || *seed == kSeeds - 1)) {
    common.erase(seed);
  }
  if (const auto n = common.find("n_cmpl"); n != common.end()) common["n"] = Json(*n);
  return common;
}

uint32_t read_count(Fields& fields, const char* name, int64_t most = INT32_MAX) {
  return static_cast<uint32_t>(fields.integer(name, 0, most).value_or(0));
}

void read_probabilities(Fields& fields, Request& request) {
  request.n_logprobs = read_count(fields, "n_probs", kMaxProbs);
  request.logprobs = request.n_logprobs > 0;
  const bool is_after_chain = fields.boolean("post_sampling_probs").value_or(false);
  request.logprobs_after_chain = request.logprobs && is_after_chain;
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

// Here ignore_eos does not only go on after an end token: none ever comes.
void ban_ignored_ends(const ServedModel& model, GenerationFields& generation) {
  if (!generation.request.ignore_eos) return;
  for (const TokenId id : model.loaded->generation_config.end_tokens) generation.rules.bad_words.push_back({id});
}

void tell_ignored_ends(const GenerationFields& generation, const ServedModel& model, Json& settings) {
  if (!generation.request.ignore_eos) return;
  for (const TokenId id : model.loaded->generation_config.end_tokens) {
    settings["logit_bias"].push_back({{"token", to_index(id)}, {"bias", nullptr}});
  }
}

uint64_t nobodys_salt() {
  thread_local std::mt19937_64 bits{std::random_device{}()};
  return bits();
}

}  // namespace

Result<LlamaFields> read_llama_fields(const Json& body, const ServedModel& model, const RequestContext& context) {
  const Json common = with_common_names(body);
  Fields fields(common);
  LlamaFields read;
  RZ_TRY(read.generation, read_generation_fields(fields, model, context));
  ban_ignored_ends(model, read.generation);
  Request& request = read.generation.request;
  if (!model.defaults->seed) shorten_random_seed(common, request.sampling);
  read_probabilities(fields, request);
  read_response_fields(fields, read.response_fields);
  read.lines.n_indent = read_count(fields, "n_indent");
  read.lines.max_ms = read_count(fields, "t_max_predict_ms");
  read.return_tokens = fields.boolean("return_tokens").value_or(false);
  read.extras = read_answer_extras(fields);
  read.n_keep = fields.integer("n_keep", -1, INT32_MAX).value_or(0);
  const bool uses_cache = fields.boolean("cache_prompt").value_or(true);
  if (!fields.status().ok()) return fields.status().error();
  if (!uses_cache) request.cache_salt = nobodys_salt();
  RZ_TRY(request.constraint, read_text_constraint(fields, read.generation.rules, model));
  read.settings = generation_settings(read.generation);
  read.settings.update(Json{{"n_keep", read.n_keep},
                            {"n_indent", read.lines.n_indent},
                            {"t_max_predict_ms", read.lines.max_ms},
                            {"grammar", common.value("grammar", Json(""))},
                            {"timings_per_token", read.extras.timings},
                            {"post_sampling_probs", request.logprobs_after_chain},
                            {"lora", common.value("lora", Json::array())}});
  tell_ignored_ends(read.generation, model, read.settings);
  return read;
}

}  // namespace realizar::server
