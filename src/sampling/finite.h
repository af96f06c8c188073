// Whether a model's logits are a valid prediction.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace realizar {

// No NaN, no +infinity, and at least one finite number. -infinity is the logit of an impossible token.
inline bool is_prediction(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  uint32_t n_wrong = 0, n_finite = 0;
  for (const float logit : logits) {
    n_wrong += logit < kInfinity ? 0 : 1;
    n_finite += logit > -kInfinity ? 1 : 0;
  }
  return n_wrong == 0 && n_finite > 0;
}

}  // namespace realizar
