#include "server/call/generation_settings.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sampling/chain.h"
#include "sampling/parameters.h"
#include "sampling/sampler_names.h"

namespace realizar::server {

Json generation_settings(const GenerationFields& fields) {
  const Request& request = fields.request;
  Json json, biases = Json::array();
  for (const auto& [id, bias] : request.sampling.logit_bias) {
    biases.push_back({{"token", to_index(id)}, {"bias", decimal(bias)}});
  }
  for (const SamplingParameter& parameter : kSamplingParameters) {
    visit_parameter(parameter, request.sampling, [&](const auto& value) {
      Json& told = json[std::string(parameter.name)] = value;
      if (told.is_number_float()) told = decimal(static_cast<float>(value));
    });
  }
  const int64_t n_predict = request.max_tokens ? int64_t{*request.max_tokens} : -1;
  json.update(Json{{"stop", fields.stop},
                   {"max_tokens", n_predict},
                   {"n_predict", n_predict},
                   {"n_keep", 0},
                   {"n_discard", 0},
                   {"ignore_eos", request.ignore_eos},
                   {"stream", fields.stream},
                   {"logit_bias", std::move(biases)},
                   {"n_probs", request.n_logprobs},
                   {"min_keep", 0},
                   {"samplers", names_of(order_of(request.sampling))}});
  return json;
}

}  // namespace realizar::server
