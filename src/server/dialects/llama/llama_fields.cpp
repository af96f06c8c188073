#include "server/dialects/llama/llama_fields.h"

#include <utility>

#include "base/try.h"
#include "server/models/answer_form.h"

namespace realizar::server {
namespace {

constexpr int64_t kMaxProbs = 100;
constexpr uint64_t kSeeds = uint64_t{1} << 32;

struct LlamaReading : GenerationReading {
  using GenerationReading::GenerationReading;

  LlamaFields fields;
  bool uses_cache = true, is_after_chain = false;
};

Status read_response_fields(const Json& list, const char* name, LlamaReading& into) {
  auto texts = texts_of(list);
  if (!texts) return wrong(name, "expected an array of strings");
  into.fields.response_fields = std::move(*texts);
  return {};
}

constexpr auto kOwn = &LlamaReading::fields;
constexpr auto kLines = &LlamaFields::lines;

constexpr Field<LlamaReading> kLlamaFields[] = {
    {"model", apart},
    {"n_cmpl", take_n<&LlamaReading::generation>},
    {"n_probs", take_whole<0, kMaxProbs, &LlamaReading::generation, &GenerationFields::request, &Request::n_logprobs>},
    {"post_sampling_probs", take_flag<&LlamaReading::is_after_chain>},
    {"response_fields", of_list<read_response_fields>},
    {"n_indent", take_whole<0, INT32_MAX, kOwn, kLines, &LineRules::n_indent>},
    {"t_max_predict_ms", take_whole<0, INT32_MAX, kOwn, kLines, &LineRules::max_ms>},
    {"return_tokens", take_flag<kOwn, &LlamaFields::return_tokens>},
    {"n_keep", take_whole<-1, INT32_MAX, kOwn, &LlamaFields::n_keep>},
    {"cache_prompt", take_flag<&LlamaReading::uses_cache>},
};

// A default seed has 32 bits, so that every client can send it back exactly.
void take_llama_seed(const Fields& body, LlamaReading& into) {
  const Json* seed = body.any("seed");
  const bool is_named = seed != nullptr && !is_minus_one(*seed) && *seed != kSeeds - 1;
  if (is_named) return;
  into.generation.request.sampling.seed = into.model.defaults->seed ? into.unnamed_seed : into.unnamed_seed % kSeeds;
}

}  // namespace

Result<LlamaFields> read_llama_fields(const Json& body, const ServedModel& model, const RequestContext& context) {
  Fields fields(body);
  LlamaReading asked(model, context);
  RZ_CHECK_OK(read_generation_fields(fields, asked));
  RZ_CHECK_OK(read_fields(kLlamaFields, fields, asked));
  RZ_CHECK_OK(read_answer_extras(fields, asked.fields.extras));
  take_llama_seed(fields, asked);
  RZ_CHECK_OK(asked.finish_generation());
  LlamaFields read = std::move(asked.fields);
  read.generation = std::move(asked.generation);
  Request& request = read.generation.request;
  // Here ignore_eos means that end tokens are never generated.
  const auto ignored = request.ignore_eos ? model.loaded->generation_config.end_tokens : std::vector<TokenId>();
  for (const TokenId id : ignored) read.generation.rules.bad_words.push_back({id});
  request.logprobs = request.n_logprobs > 0;
  request.logprobs_after_chain = request.logprobs && asked.is_after_chain;
  if (!asked.uses_cache) {
    request.cache_salt = random_number();  // private
    read.generation.cache_name.clear();
  }
  RZ_CHECK_OK(constrain_text(body, read.generation, model));
  read.settings = generation_settings(read.generation);
  read.settings.update(Json{{"n_keep", read.n_keep},
                            {"n_indent", read.lines.n_indent},
                            {"t_max_predict_ms", read.lines.max_ms},
                            {"grammar", body.value("grammar", Json(""))},
                            {"timings_per_token", read.extras.timings},
                            {"post_sampling_probs", request.logprobs_after_chain},
                            {"lora", body.value("lora", Json::array())}});
  for (const TokenId id : ignored) {
    read.settings["logit_bias"].push_back({{"token", to_index(id)}, {"bias", nullptr}});
  }
  return read;
}

KnownFields llama_fields() {
  return known_in(kLlamaFields, generation_fields(), form_fields(), extra_fields());
}

}  // namespace realizar::server
