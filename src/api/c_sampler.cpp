// The C interface: sampling from the caller's own logits.
#include <span>

#include "api/c_request.h"
#include "base/try.h"
#include "realizar/sampler.h"

using namespace realizar;
using namespace realizar::c;

struct rz_sampler {
  TokenSampler sampler;
};

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
