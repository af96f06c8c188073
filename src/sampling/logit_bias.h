// Adds the request's biases to the logits of single tokens.
#pragma once

#include <span>

#include "realizar/request.h"

namespace realizar {

inline void apply_logit_bias(const SamplingParams& params, std::span<float> logits) {
  for (const auto& [id, bias] : params.logit_bias) logits[static_cast<size_t>(to_index(id))] += bias;
}

}  // namespace realizar
