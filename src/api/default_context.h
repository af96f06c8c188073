#pragma once

#include <algorithm>
#include <cstdint>

namespace realizar {

// Positions of a sequence where LoadOptions::n_ctx names none.
inline uint32_t default_context(uint32_t n_ctx_train) {
  constexpr uint32_t kMost = 8192;
  return std::min(n_ctx_train, kMost);
}

}  // namespace realizar
