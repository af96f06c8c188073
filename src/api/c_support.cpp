#include "api/c_support.h"

#include <cmath>

#include "api/adapter_source.h"
#include "base/printable.h"
#include "sampling/parameters.h"
#include "sampling/sampler_names.h"

namespace realizar::c {
namespace {

thread_local std::string message_of_last;
thread_local int code_of_last = RZ_OK;
thread_local uint32_t n_prompt_of_last = 0, n_ctx_of_last = 0;
thread_local bool is_handle_missing = false;  // the error explains why a model or a session is null

// Both enums have the same values in the same order.
static_assert(static_cast<int>(FinishReason::kStop) == RZ_FINISH_STOP);
static_assert(static_cast<int>(FinishReason::kError) == RZ_FINISH_ERROR);

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

template <class Enum>
Status take_name(Enum& to, const char* from, const char* field) {
  if (from == nullptr) return {};
  const auto value = option_value<Enum>(from);
  if (value) {
    to = *value;
    return {};
  }
  std::string known;
  for (const auto& named : option_names(to)) known += (known.empty() ? "" : ", ") + std::string(named.name);
  return invalid_argument(std::string(field) + ": expected one of " + known + ", actual '" + from + "'", field);
}

void take_text(std::string& to, const char* from) {
  if (from != nullptr) to = from;
}

template <class To, class From>
void take_number(To& to, From from) {
  if (from != 0) to = static_cast<To>(from);
}

// A number below zero means none, since 0 means the default.
uint64_t none_below_zero(int64_t number) {
  return static_cast<uint64_t>(std::max<int64_t>(0, number));
}

Status take_gpu(GpuSettings& gpu, const rz_load_options& given) {
  if (given.devices == nullptr && given.n_devices > 0) return null_argument("devices");
  gpu.devices.assign(given.devices, given.devices + given.n_devices);
  RZ_CHECK_OK(take_name(gpu.split, given.split, "split"));
  RZ_CHECK_OK(take_name(gpu.chooser, given.choose, "choose"));
  if (given.n_gpu_layers != 0) gpu.n_layers = static_cast<uint32_t>(none_below_zero(given.n_gpu_layers));
  if (given.host_cache_mb != 0) gpu.host_cache_mb = none_below_zero(given.host_cache_mb);
  take_number(gpu.memory_mb, given.gpu_memory_mb);
  take_number(gpu.host_memory_mb, given.host_memory_mb);
  take_text(gpu.layer_dir, given.layer_dir);
  return {};
}

Status take_adapters(AdapterSettings& adapters, const rz_load_options& given) {
  if (given.loras == nullptr && given.n_loras > 0) return null_argument("loras");
  for (const char* lora : std::span(given.loras, given.n_loras)) {
    if (lora == nullptr) return null_argument("loras");
    RZ_TRY(AdapterSource source, parse_adapter(lora));
    adapters.sources.push_back(std::move(source));
  }
  take_number(adapters.n_slots, given.max_loras);
  take_number(adapters.max_rank, given.max_lora_rank);
  return {};
}

void take_serving(LoadOptions& load, const rz_load_options& given) {
  take_number(load.cache.n_tokens, given.kv_tokens);
  take_number(load.cache.n_contexts, given.n_contexts);
  take_number(load.cache.n_states, given.n_kept_states);
  take_number(load.batch.max_seqs, given.max_seqs);
  take_number(load.batch.max_tokens, given.max_batch_tokens);
  take_number(load.batch.max_prefill_tokens, given.max_prefill_tokens);
  load.batch.global_priority = given.global_priority != 0;
  load.idle_prefill = given.no_idle_prefill == 0;
  load.warm_up = given.warm_up != 0;
}

}  // namespace

int code_of(const Error& error) noexcept {
  return static_cast<int>(error.code) + 1;
}

int64_t fail(const Error& error) noexcept {
  is_handle_missing = false;
  code_of_last = code_of(error);
  n_prompt_of_last = error.n_prompt;
  n_ctx_of_last = error.n_ctx;
  // Without memory for the message, its code is enough. A NUL would cut the message.
  static_cast<void>(caught([&] { message_of_last = printable(error.message); }));
  return -1;
}

std::nullptr_t fail_to_make(const Error& error) noexcept {
  fail(error);
  is_handle_missing = true;
  return nullptr;
}

int64_t fail_without(const char* handle) noexcept {
  if (is_handle_missing) return -1;
  const Status wrong = caught([&]() -> Status { return null_argument(handle); });
  fail_to_make(wrong.error());
  return -1;
}

void forget_error() noexcept {
  is_handle_missing = false;
  message_of_last.clear();
  code_of_last = RZ_OK;
  n_prompt_of_last = n_ctx_of_last = 0;
}

Error null_argument(const char* name) {
  return invalid_argument(std::string(name) + " is null", name);
}

Error busy_error() {
  return invalid_argument(
      "the model is busy with another call or a session: only rz_cancel and what takes a const rz_model can be called "
      "now",
      "model");
}

Error callback_error() {
  return invalid_argument("a callback cannot wait for its own session, or free it", "session");
}

int64_t copy_ids(const std::vector<TokenId>& tokens, int32_t* ids, size_t capacity) {
  for (size_t i = 0; ids != nullptr && i < std::min(capacity, tokens.size()); ++i) ids[i] = to_index(tokens[i]);
  return static_cast<int64_t>(tokens.size());
}

Result<int64_t> copy_floats(std::span<const float> from, float* to, size_t capacity) {
  if (to == nullptr) return null_argument("the buffer");
  if (from.size() > capacity) {
    return invalid_argument(
        "capacity: expected at least " + std::to_string(from.size()) + " floats, actual " + std::to_string(capacity),
        "capacity");
  }
  std::copy(from.begin(), from.end(), to);
  return static_cast<int64_t>(from.size());
}

int64_t copy_text(const std::string& from, char* to, size_t capacity) {
  if (to != nullptr) std::memcpy(to, from.data(), std::min(capacity, from.size()));
  return static_cast<int64_t>(from.size());
}

Result<std::vector<std::string>> to_texts(const char* const* texts, size_t n, const char* field) {
  if (texts == nullptr && n > 0) return null_argument(field);
  std::vector<std::string> list;
  for (const char* text : std::span(texts, n)) {
    if (text == nullptr) return null_argument(field);
    list.emplace_back(text);
  }
  return list;
}

std::vector<TokenId> to_tokens(const int32_t* ids, size_t n) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < n; ++i) tokens.push_back(TokenId{ids[i]});
  return tokens;
}

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
  to.finish_reason = static_cast<int>(generation.finish_reason);
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

Result<LoadOptions> to_load_options(const rz_load_options& given) {
  LoadOptions load;
  RZ_CHECK_OK(take_name(load.backend, given.backend, "backend"));
  RZ_CHECK_OK(take_name(load.cache.type, given.kv_type, "kv_type"));
  RZ_CHECK_OK(take_name(load.cpu.isa, given.isa, "isa"));
  RZ_CHECK_OK(take_gpu(load.gpu, given));
  RZ_CHECK_OK(take_adapters(load.adapters, given));
  RZ_TRY(load.ends.ends, to_texts(given.ends, given.n_ends, "ends"));
  RZ_TRY(load.ends.no_ends, to_texts(given.no_ends, given.n_no_ends, "no_ends"));
  take_serving(load, given);
  take_number(load.cpu.n_threads, given.n_threads);
  take_number(load.n_ctx, given.n_ctx);
  RZ_CHECK_OK(take_name(load.rope.scaling, given.rope_scaling, "rope_scaling"));
  if (given.rope_factor != 0) load.rope.factor = given.rope_factor;
  take_number(load.rope.n_ctx_original, given.rope_original_context);
  take_text(load.draft.path, given.draft_path);
  take_text(load.models_store, given.models_store);
  take_number(load.draft.n_tokens, given.n_draft);
  load.draft.guesses = given.no_guesses == 0;
  load.check = given.check != 0;
  if (given.on_progress != nullptr) {
    load.progress = [on_progress = given.on_progress, user = given.on_progress_user](uint64_t done, uint64_t total) {
      return on_progress(done, total, user) != 0;
    };
  }
  return load;
}

}  // namespace realizar::c

using namespace realizar::c;

const char* rz_last_error(void) {
  return message_of_last.c_str();
}
int rz_last_error_code(void) {
  return code_of_last;
}
uint32_t rz_last_error_n_prompt(void) {
  return n_prompt_of_last;
}
uint32_t rz_last_error_n_ctx(void) {
  return n_ctx_of_last;
}
