// How options of loading, requests and what they give cross the C interface.
#pragma once

#include <string_view>
#include <vector>

#include "api/c_support.h"

namespace realizar::c {

// Zeroes and null pointers give the defaults. Errors: InvalidArgument naming the field.
Result<LoadOptions> to_load_options(const rz_load_options& given);

// What a struct asks for.
struct Asked {
  Request request;
  TextOptions text;
};
// `sampling`: what parameters keep that are not named. Schema and grammar are left to the caller. Errors:
// InvalidArgument naming the field; those of LanguageModel::sequence_breakers.
Result<Asked> read_request(const rz_request& given, const LanguageModel& model, const SamplingParams& sampling);

// Its parameters and biases, and a chain. `model`: for breakers; may be null. Errors: as above.
Status read_sampling(const rz_request& given, const rz_sampler_chain* chain, const LanguageModel* model,
                     SamplingParams& sampling);

// RZ_POOL_..., or 0. Errors: InvalidArgument; Unsupported where the model gives no vectors.
Result<Pooling> read_pooling(int pooling, const LanguageModel& model);

rz_result to_c_result(const TextGeneration& generation);
// The end of a request that failed.
rz_result to_c_result(const Error& error, size_t n_prompt);

// A token as C sees it; what `of` gives is valid until its next call.
class TokenView {
 public:
  rz_token of(const TokenEvent& event, std::string_view text);

 private:
  std::vector<rz_logprob> top_;
};

Status check_prompt(const int32_t* ids, size_t n_ids);

}  // namespace realizar::c
