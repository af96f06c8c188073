// Whether a model's logits are a prediction.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace realizar {

// No NaN, no +infinity, and one finite number at least. -infinity is the logit of a token that cannot come.
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
