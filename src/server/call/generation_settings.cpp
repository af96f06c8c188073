#include "server/call/generation_settings.h"

#include <nlohmann/json.hpp>

#include "sampling/chain.h"
#include "sampling/parameters.h"
#include "sampling/sampler_names.h"

namespace realizar::server {
namespace {

Json told_value(float value) {
  return decimal(value);
}
template <class T>
Json told_value(T value) {
  return value;
}

Json told_biases(const SamplingParams& params) {
  Json biases = Json::array();
  for (const auto& [id, bias] : params.logit_bias) biases.push_back({{"token", to_index(id)}, {"bias", decimal(bias)}});
  return biases;
}

}  // namespace

Json generation_settings(const GenerationFields& fields) {
  const Request& request = fields.request;
  Json json;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    json[std::string(parameter.name)] =
        visit_parameter(parameter, request.sampling, [](const auto& value) { return told_value(value); });
  }
  const int64_t n_predict = request.max_tokens ? int64_t{*request.max_tokens} : -1;
  json.update(Json{{"stop", fields.stop},
                   {"max_tokens", n_predict},
                   {"n_predict", n_predict},
                   {"n_keep", 0},
                   {"n_discard", 0},
                   {"ignore_eos", request.ignore_eos},
                   {"stream", fields.stream},
                   {"logit_bias", told_biases(request.sampling)},
                   {"n_probs", request.n_logprobs},
                   {"min_keep", 0},
                   {"samplers", names_of(order_of(request.sampling))}});
  return json;
}

}  // namespace realizar::server
