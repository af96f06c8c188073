// Excludes tokens that a grammar does not allow.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace realizar {

// `allowed`: bit t % 64 of word t / 64 for token t.
inline void apply_mask(std::span<const uint64_t> allowed, std::span<float> logits) {
  for (size_t t = 0; t < logits.size(); ++t) {
    if ((allowed[t / 64] >> (t % 64) & 1) == 0) logits[t] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace realizar
