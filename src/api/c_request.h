// Conversion of load options, requests and results across the C interface.
#pragma once

#include <string_view>
#include <vector>

#include "api/c_support.h"

namespace realizar::c {

// Zeroes and null pointers mean the defaults. Errors: InvalidArgument naming the field.
Result<LoadOptions> to_load_options(const rz_load_options& given);

// The contents of an rz_request.
struct Asked {
  Request request;
  TextOptions text;
};
// `sampling`: the values of parameters that are not named. Schema and grammar are left to the caller. Errors:
// InvalidArgument naming the field; those of LanguageModel::sequence_breakers.
Result<Asked> read_request(const rz_request& given, const LanguageModel& model, const SamplingParams& sampling);

// Parameters, biases and a chain. `model`: for breakers; may be null. Errors: as above.
Status read_sampling(const rz_request& given, const rz_sampler_chain* chain, const LanguageModel* model,
                     SamplingParams& sampling);

// RZ_POOL_..., or 0. Errors: InvalidArgument; Unsupported if the model gives no vectors.
Result<Pooling> read_pooling(int pooling, const LanguageModel& model);

rz_result to_c_result(const TextGeneration& generation);
// The result of a request that failed.
rz_result to_c_result(const Error& error, size_t n_prompt);

// A token in its C form; the result of `of` is valid until the next call.
class TokenView {
 public:
  rz_token of(const TokenEvent& event, std::string_view text);

 private:
  std::vector<rz_logprob> top_;
};

Status check_prompt(const int32_t* ids, size_t n_ids);

}  // namespace realizar::c
