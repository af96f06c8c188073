// The C interface: functions that compute, and sampling from the caller's own logits.
#include <span>

#include "api/adapter_source.h"
#include "api/c_support.h"
#include "base/try.h"
#include "realizar/sampler.h"

using namespace realizar;
using namespace realizar::c;

struct rz_sampler {
  TokenSampler sampler;
};

namespace {

// SamplingParams and rz_generate_options use the same names for these fields. The C struct is not extended: newer
// parameters are given by name, in `parameters`.
template <class From, class To>
void copy_sampling(const From& from, To& to) {
  to.temperature = from.temperature;
  to.top_k = from.top_k;
  to.typical_p = from.typical_p;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.repeat_penalty = from.repeat_penalty;
  to.repeat_last_n = from.repeat_last_n;
  to.frequency_penalty = from.frequency_penalty;
  to.presence_penalty = from.presence_penalty;
  to.seed = from.seed;
}

rz_request request_of(const rz_generate_options& options) {
  rz_request request{};
  request.parameters = options.parameters;
  request.n_parameters = options.n_parameters;
  request.max_tokens = options.max_tokens;
  request.has_max_tokens = options.has_max_tokens;
  request.stop = options.stop;
  request.n_stop = options.n_stop;
  request.stop_tokens = options.stop_tokens;
  request.n_stop_tokens = options.n_stop_tokens;
  request.ignore_eos = options.ignore_eos;
  request.logprobs = options.logprobs;
  request.n_logprobs = options.n_logprobs;
  request.logit_bias = options.logit_bias;
  request.n_logit_bias = options.n_logit_bias;
  request.chain = options.chain;
  request.lora = options.lora;
  request.lora_scale = options.lora_scale;
  return request;
}

Result<Asked> read_asked(const rz_model& model, const rz_generate_options* options) {
  const SamplingParams recommended = model.model.default_sampling();
  if (options == nullptr) return read_request({}, model.model, recommended);
  RZ_TRY(const rz_generate_options given, read_struct(options));
  SamplingParams sampling;
  copy_sampling(given, sampling);
  return read_request(request_of(given), model.model, sampling);
}

// Passes each piece of text, and each token, to the caller's callbacks.
class Teller {
 public:
  Teller(rz_text_callback on_text, void* user, const rz_generate_options& options)
      : on_text_(on_text), user_(user), options_(options) {}

  bool tell(const TextEvent& event) {
    const bool wants_text =
        on_text_ == nullptr || event.text.empty() || on_text_(event.text.data(), event.text.size(), user_) != 0;
    if (!wants_text || options_.on_token == nullptr || event.token == nullptr) return wants_text;
    const rz_token token = token_.of(*event.token, event.text);
    return options_.on_token(&token, options_.on_token_user) != 0;
  }

 private:
  rz_text_callback on_text_;
  void* user_;
  const rz_generate_options& options_;
  TokenView token_;
};

}  // namespace

int rz_default_generate_options(const rz_model* model, rz_generate_options* options) {
  return static_cast<int>(counted_with(model, "model", [&]() -> Status {
    if (options == nullptr) return null_argument("options");
    rz_generate_options defaults{};
    copy_sampling(model->model.default_sampling(), defaults);
    return write_struct(defaults, options);
  }));
}

int64_t rz_generate(rz_model* model, const int32_t* prompt, size_t n_prompt, const rz_generate_options* options,
                    rz_text_callback on_text, void* user) {
  return exclusively(model, [&]() -> Result<int64_t> {
    RZ_CHECK_OK(check_prompt(prompt, n_prompt));
    RZ_TRY(Asked asked, read_asked(*model, options));
    RZ_TRY(const rz_generate_options given, read_struct(options));
    if (given.result != nullptr) RZ_CHECK_OK(check_struct(*given.result));
    asked.request.prompt = to_tokens(prompt, n_prompt);
    Teller teller(on_text, user, given);
    RZ_TRY(const auto generation, model->model.generate_text(asked.request, asked.text, [&](const TextEvent& event) {
      return teller.tell(event);
    }));
    if (given.result != nullptr) RZ_CHECK_OK(write_struct(to_c_result(generation), given.result));
    return static_cast<int64_t>(generation.tokens.size());
  });
}

int64_t rz_generate_batch(rz_model* model, const rz_prompt* prompts, size_t n_prompts,
                          const rz_generate_options* options, rz_result_callback on_result, void* user) {
  return exclusively(model, [&]() -> Result<int64_t> {
    if (prompts == nullptr && n_prompts > 0) return null_argument("prompts");
    RZ_TRY(const Asked asked, read_asked(*model, options));
    std::vector<Request> requests;
    for (const rz_prompt& prompt : std::span(prompts, n_prompts)) {
      RZ_CHECK_OK(check_prompt(prompt.ids, prompt.n_ids));
      requests.push_back(asked.request);
      requests.back().prompt = to_tokens(prompt.ids, prompt.n_ids);
    }
    int64_t n_answered = 0;
    RZ_CHECK_OK(
        model->model.generate_texts(requests, asked.text, [&](size_t idx, const Result<TextGeneration>& result) {
          const std::string& text = result.ok() ? result->text : result.error().message;
          const rz_result end = result.ok() ? to_c_result(*result) : to_c_result(result.error(), prompts[idx].n_ids);
          n_answered += result.ok() ? 1 : 0;
          if (on_result != nullptr) on_result(idx, text.data(), text.size(), &end, user);
        }));
    return n_answered;
  });
}

void rz_cancel(rz_model* model) {
  if (model != nullptr) model->model.cancel();
}

int64_t rz_logits(rz_model* model, const int32_t* ids, size_t n_ids, uint32_t n_prompt, uint32_t n_last, float* logits,
                  size_t capacity) {
  return exclusively(model, [&]() -> Result<int64_t> {
    RZ_CHECK_OK(check_prompt(ids, n_ids));
    RZ_TRY(const auto values, model->model.logits(to_tokens(ids, n_ids), n_prompt, n_last));
    return copy_floats(values, logits, capacity);
  });
}

int64_t rz_embed(rz_model* model, const int32_t* ids, size_t n_ids, int pooling, float* vector, size_t capacity) {
  return exclusively(model, [&]() -> Result<int64_t> {
    RZ_CHECK_OK(check_prompt(ids, n_ids));
    Request request;
    request.prompt = to_tokens(ids, n_ids);
    if (pooling == 0 || pooling == RZ_POOL_RANK) {
      return invalid_argument("pooling: expected RZ_POOL_LAST, RZ_POOL_MEAN or RZ_POOL_MODEL", "pooling");
    }
    RZ_TRY(request.pooling, read_pooling(pooling, model->model));
    RZ_TRY(const Generation generation, model->model.generate(request));
    if (generation.finish_reason == FinishReason::kCancelled) {
      return Error{ErrorCode::kCancelled, "rz_cancel ended the call", ""};
    }
    return copy_floats(generation.embedding, vector, capacity);
  });
}

int64_t rz_rank(rz_model* model, const char* query, const char* const* documents, size_t n_documents, float* relevances,
                size_t capacity) {
  return exclusively(model, [&]() -> Result<int64_t> {
    if (query == nullptr) return null_argument("query");
    RZ_TRY(const std::vector<std::string> texts, to_texts(documents, n_documents, "documents"));
    RZ_TRY(const std::vector<float> found, model->model.rank(query, texts));
    return copy_floats(found, relevances, capacity);
  });
}

int rz_load_lora(rz_model* model, const char* lora) {
  return static_cast<int>(exclusively(model, [&]() -> Status {
    if (lora == nullptr) return null_argument("lora");
    RZ_TRY(const AdapterSource source, parse_adapter(lora));
    return model->model.load_adapter(source);
  }));
}

int rz_unload_lora(rz_model* model, const char* name) {
  return static_cast<int>(exclusively(model, [&]() -> Status {
    if (name == nullptr) return null_argument("name");
    return model->model.unload_adapter(name);
  }));
}

int rz_clear_cache(rz_model* model, int wipe) {
  return static_cast<int>(exclusively(model, [&] { model->model.clear_cache(wipe != 0); }));
}

rz_sampler* rz_sampler_new(const rz_sampler_options* options) {
  return made<rz_sampler>([&]() -> Result<rz_sampler*> {
    if (options == nullptr) return null_argument("options");
    RZ_TRY(const rz_sampler_options given, read_struct(options));
    const LanguageModel* model = given.model != nullptr ? &given.model->model : nullptr;
    SamplingParams params = model != nullptr ? model->default_sampling() : SamplingParams();
    rz_request request{};
    request.parameters = given.parameters;
    request.n_parameters = given.n_parameters;
    request.logit_bias = given.logit_bias;
    request.n_logit_bias = given.n_logit_bias;
    RZ_CHECK_OK(read_sampling(request, given.chain, model, params));
    if (given.has_seed != 0) params.seed = given.seed;
    RZ_TRY(TokenSampler sampler, TokenSampler::create(given.n_vocab, params));
    return new rz_sampler{std::move(sampler)};
  });
}

int64_t rz_sample(rz_sampler* sampler, const float* logits, size_t n_logits, const int32_t* history, size_t n_history) {
  return counted_with(sampler, "sampler", [&]() -> Result<int64_t> {
    if (logits == nullptr && n_logits > 0) return null_argument("logits");
    if (history == nullptr && n_history > 0) return null_argument("history");
    RZ_TRY(const TokenId id, sampler->sampler.sample(std::span(logits, n_logits), to_tokens(history, n_history)));
    return int64_t{to_index(id)};
  });
}

int rz_sampler_reset(rz_sampler* sampler) {
  return static_cast<int>(counted_with(sampler, "sampler", [&] { sampler->sampler.reset(); }));
}

void rz_sampler_free(rz_sampler* sampler) {
  delete sampler;
}
