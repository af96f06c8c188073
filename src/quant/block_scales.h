// The 6-bit scales of blocks that pack them.
#pragma once

#include "quant/blocks.h"

namespace realizar {

// The 6-bit scale and min of sub-block s (0-7) of Q4_K and Q5_K.
struct ScaleMin {
  uint8_t scale, min;
};
constexpr ScaleMin q4_k_scale_min(const uint8_t* scales, int s) {
  if (s < 4) return {static_cast<uint8_t>(scales[s] & 63), static_cast<uint8_t>(scales[s + 4] & 63)};
  return {static_cast<uint8_t>((scales[s + 4] & 15) | ((scales[s - 4] >> 6) << 4)),
          static_cast<uint8_t>((scales[s + 4] >> 4) | ((scales[s] >> 6) << 4))};
}

// The 6-bit scale of sub-block s (0-15) of Q3_K, less 32.
constexpr int q3_k_scale(const uint8_t* scales, int s) {
  const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
  const int high = (scales[8 + s % 4] >> (2 * (s / 4))) & 3;
  return (low | (high << 4)) - 32;
}

// The 6-bit scale of sub-block s (0-7) of IQ4_XS, less 32.
constexpr int iq4_xs_scale(const BlockIQ4_XS& block, int s) {
  const int low = (block.scales_l[s / 2] >> (4 * (s % 2))) & 15;
  const int high = (block.scales_h >> (2 * s)) & 3;
  return (low | (high << 4)) - 32;
}

}  // namespace realizar
