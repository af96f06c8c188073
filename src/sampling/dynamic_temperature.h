// Dynamic temperature (kalomaze 2023; llama.cpp's pull request 4972): low if the model is certain, high if it is not.
// With h the candidates' entropy divided by that of a uniform distribution over them, it is
// min + (max - min) * h^exponent, where min and max are dynatemp_range below and above the temperature.
#pragma once

#include <algorithm>
#include <cmath>

#include "realizar/request.h"
#include "sampling/candidates.h"

namespace realizar {

// `candidates`: with p.
inline double dynamic_temperature(const SamplingParams& params, const Candidates& candidates) {
  if (params.dynatemp_range <= 0.0f || candidates.size() < 2) return params.temperature;
  double entropy = 0;
  for (const Candidate& c : candidates) entropy -= c.p > 0 ? c.p * std::log(c.p) : 0;
  const double share = std::clamp(entropy / std::log(static_cast<double>(candidates.size())), 0.0, 1.0);
  const double least = std::max(0.0, double{params.temperature} - params.dynatemp_range);
  const double most = double{params.temperature} + params.dynatemp_range;
  return least + (most - least) * std::pow(share, double{params.dynatemp_exponent});
}

}  // namespace realizar
