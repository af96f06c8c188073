#include "api/c_request.h"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/try.h"
#include "sampling/parameters.h"
#include "sampling/sampler_names.h"

namespace realizar::c {
namespace {

int to_c(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return RZ_FINISH_STOP;
    case FinishReason::kLength:
      return RZ_FINISH_LENGTH;
    case FinishReason::kContext:
      return RZ_FINISH_CONTEXT;
    case FinishReason::kCancelled:
      return RZ_FINISH_CANCELLED;
    case FinishReason::kDeadline:
      return RZ_FINISH_DEADLINE;
    case FinishReason::kError:
      return RZ_FINISH_ERROR;
  }
  return RZ_FINISH_ERROR;
}

Status read_lists(const rz_request& given, Asked& asked) {
  RZ_CHECK_OK(check_prompt(given.ids, given.n_ids));
  asked.request.prompt = to_tokens(given.ids, given.n_ids);
  if (given.stop_tokens == nullptr && given.n_stop_tokens > 0) return null_argument("stop_tokens");
  asked.request.stop_tokens = to_tokens(given.stop_tokens, given.n_stop_tokens);
  RZ_TRY(asked.text.stop, to_texts(given.stop, given.n_stop, "stop"));
  return {};
}

Status read_chain(const rz_sampler_chain* chain, const LanguageModel* model, SamplingParams& sampling) {
  if (chain == nullptr) return {};
  RZ_TRY(const rz_sampler_chain given, read_struct(chain));
  if (given.samplers != nullptr) {
    RZ_TRY(sampling.samplers, samplers_of_list(given.samplers));
  }
  RZ_TRY(const std::vector<std::string> texts, to_texts(given.dry_breakers, given.n_dry_breakers, "dry_breakers"));
  if (given.dry_breakers == nullptr) return {};
  if (model == nullptr) return null_argument("model, whose tokens dry_breakers are spelled with,");
  RZ_TRY(sampling.dry_breakers, model->sequence_breakers(texts));
  return {};
}

}  // namespace

Status read_sampling(const rz_request& given, const rz_sampler_chain* chain, const LanguageModel* model,
                     SamplingParams& sampling) {
  if (given.parameters == nullptr && given.n_parameters > 0) return null_argument("parameters");
  for (const rz_parameter& parameter : std::span(given.parameters, given.n_parameters)) {
    if (parameter.name == nullptr) return null_argument("parameters.name");
    RZ_CHECK_OK(set_sampling_parameter(sampling, parameter.name, parameter.value));
  }
  if (given.logit_bias == nullptr && given.n_logit_bias > 0) return null_argument("logit_bias");
  for (const rz_logit_bias& bias : std::span(given.logit_bias, given.n_logit_bias)) {
    sampling.logit_bias.emplace_back(TokenId{bias.id}, bias.bias);
  }
  return read_chain(chain, model, sampling);
}

Result<Asked> read_request(const rz_request& given, const LanguageModel& model, const SamplingParams& sampling) {
  Asked asked;
  asked.request.sampling = sampling;
  RZ_CHECK_OK(read_lists(given, asked));
  RZ_CHECK_OK(read_sampling(given, given.chain, &model, asked.request.sampling));
  if (given.max_tokens > 0 || given.has_max_tokens != 0) asked.request.max_tokens = given.max_tokens;
  if (given.has_seed != 0) asked.request.sampling.seed = given.seed;
  asked.request.ignore_eos = given.ignore_eos != 0;
  asked.request.n_logprobs = given.n_logprobs;
  asked.request.logprobs = given.logprobs != 0 || given.n_logprobs > 0;
  asked.request.priority = given.priority;
  asked.request.tenant = given.tenant;
  asked.request.cache_salt = given.cache_salt;
  if (given.lora != nullptr) asked.request.adapter = given.lora;
  if (given.lora != nullptr && given.lora_scale != 0) asked.request.adapter_scale = given.lora_scale;
  if (given.timeout_ms > 0) asked.request.timeout_ms = given.timeout_ms;
  asked.text.split_reasoning = given.split_reasoning != 0;
  if (given.tools_json != nullptr) asked.text.tools_json = given.tools_json;
  return asked;
}

Result<Pooling> read_pooling(int pooling, const LanguageModel& model) {
  const bool is_reranker = model.pooling() == Pooling::kRank;
  if (pooling == RZ_POOL_RANK && !is_reranker) return unsupported(model.info().path + " is not a reranker", "model");
  if (pooling != 0 && pooling != RZ_POOL_RANK && is_reranker) {
    return unsupported(model.info().path + " is a reranker, which scores texts and cannot make vectors", "model");
  }
  switch (pooling) {
    case 0:
      return Pooling::kNone;
    case RZ_POOL_LAST:
      return Pooling::kLast;
    case RZ_POOL_MEAN:
      return Pooling::kMean;
    case RZ_POOL_MODEL:
    case RZ_POOL_RANK:
      return model.pooling();
    default:
      return invalid_argument("pooling: expected RZ_POOL_LAST, RZ_POOL_MEAN, RZ_POOL_MODEL or RZ_POOL_RANK, actual " +
                                  std::to_string(pooling),
                              "pooling");
  }
}

rz_result to_c_result(const TextGeneration& generation) {
  const GenerationStats& stats = generation.stats;
  rz_result to{};
  to.struct_size = sizeof to;
  to.finish_reason = to_c(generation.finish_reason);
  to.n_prompt = stats.n_prompt;
  to.n_cached = stats.n_cached;
  to.n_generated = stats.n_generated;
  to.n_drafted = stats.n_drafted;
  to.n_accepted = stats.n_accepted;
  to.queue_ms = stats.queue_ms;
  to.prefill_ms = stats.prefill_ms;
  to.first_token_ms = stats.first_token_ms;
  to.decode_ms = stats.decode_ms;
  to.n_preemptions = stats.n_preemptions;
  to.prefix_lookup_ms = stats.prefix_lookup_ms;
  return to;
}

rz_result to_c_result(const Error& error, size_t n_prompt) {
  rz_result to{};
  to.struct_size = sizeof to;
  to.n_prompt = static_cast<uint32_t>(n_prompt);
  to.finish_reason = RZ_FINISH_ERROR;
  to.error_code = code_of(error);
  return to;
}

rz_token TokenView::of(const TokenEvent& event, std::string_view text) {
  top_.clear();
  for (const TokenLogprob& top : event.top) top_.push_back({to_index(top.id), top.logprob});
  rz_token token{};
  token.id = to_index(event.id);
  token.index = event.index;
  token.ms = event.ms;
  token.device_ms = event.device_ms;
  token.logprob = event.logprob.value_or(NAN);
  token.top = top_.data();
  token.n_top = top_.size();
  token.text = text.data();
  token.n_text_bytes = text.size();
  return token;
}

Status check_prompt(const int32_t* ids, size_t n_ids) {
  if (ids == nullptr && n_ids > 0) return null_argument("ids");
  return {};
}

}  // namespace realizar::c
