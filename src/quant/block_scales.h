// Unpacks the packed parts of blocks: scales, signs and indices of points.
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

// The 6-bit scale of sub-block s (0-15) of Q3_K, minus 32.
constexpr int q3_k_scale(const uint8_t* scales, int s) {
  const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
  const int high = (scales[8 + s % 4] >> (2 * (s / 4))) & 3;
  return (low | (high << 4)) - 32;
}

// The 6-bit scale of sub-block s (0-7) of IQ4_XS, minus 32.
constexpr int iq4_xs_scale(const BlockIQ4_XS& block, int s) {
  const int low = (block.scales_l[s / 2] >> (4 * (s % 2))) & 15;
  const int high = (block.scales_h >> (2 * s)) & 3;
  return (low | (high << 4)) - 32;
}

// 32 bits of sub-block s (0-7): even signs for four times eight elements, seven bits each, and the scale in the upper
// bits.
constexpr uint32_t iq2_xxs_signs(const BlockIQ2_XXS& b, int s) {
  return b.qs[4 * s + 2] | uint32_t{b.qs[4 * s + 3]} << 16;
}
constexpr uint32_t iq3_xxs_signs(const BlockIQ3_XXS& b, int s) {
  const uint8_t* at = b.signs + 4 * s;
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}

// The signs of eight elements, of which seven are stored: the eighth makes the number of negative ones even.
constexpr uint32_t signs_of_seven(uint32_t stored) {
  const uint32_t signs = stored & 127, folded = signs ^ (signs >> 4);
  return signs | (0x6996u >> (folded & 15) & 1) << 7;
}

// The index of the p-th point of a block.
constexpr int iq2_xxs_point(const BlockIQ2_XXS& b, int p) {
  return (b.qs[4 * (p / 4) + p % 4 / 2] >> (p % 2 * 8)) & 255;
}
constexpr int iq2_s_point(const BlockIQ2_S& b, int p) {
  return b.qs[p] | ((b.qh[p / 4] >> (p % 4 * 2)) & 3) << 8;
}
constexpr int iq3_s_point(const BlockIQ3_S& b, int p) {
  return b.qs[p] | ((b.qh[p / 8] >> (p % 8)) & 1) << 8;
}
constexpr int iq1_s_point(const BlockIQ1_S& b, int p) {
  return b.qs[p] | ((b.qh[p / 4] >> (p % 4 * 3)) & 7) << 8;
}
constexpr int iq1_m_point(const BlockIQ1_M& b, int p) {
  return b.qs[p] | ((b.qh[p / 2] >> (p % 2 * 4)) & 7) << 8;
}

constexpr bool iq1_m_is_below(const BlockIQ1_M& b, int p) {
  return ((b.qh[p / 2] >> (p % 2 * 4)) & 8) != 0;
}
// The factor of sub-block s (0-15) of IQ1_M: 1, 3 .. 15.
constexpr int iq1_m_scale(const BlockIQ1_M& b, int s) {
  const int bits = b.scales[s / 4 * 2] | b.scales[s / 4 * 2 + 1] << 8;
  return 2 * ((bits >> (s % 4 * 3)) & 7) + 1;
}
constexpr Half iq1_m_d(const BlockIQ1_M& b) {
  const uint8_t* at = b.scales;
  return static_cast<Half>(at[1] >> 4 | (at[3] & 0xf0) | (at[5] & 0xf0) << 4 | (at[7] & 0xf0) << 8);
}

// Location of element i in TQ1_0: the `digit`-th digit of a byte. Bytes hold elements 32, then 16, then 4 apart.
struct TernaryPlace {
  bool in_qh;
  int byte, digit;
};
constexpr TernaryPlace tq1_0_place(int i) {
  if (i < 160) return {false, i % 32, i / 32};
  if (i < 240) return {false, 32 + (i - 160) % 16, (i - 160) / 16};
  return {true, (i - 240) % 4, (i - 240) / 4};
}
// The n-th base-3 digit of a byte, which represents the fraction byte / 256; the highest digit first.
constexpr int ternary_digit(uint8_t byte, int n) {
  uint32_t rest = byte;
  for (int k = 0; k < n; ++k) rest = rest * 3 & 255;
  return static_cast<int>(rest * 3 >> 8);
}

}  // namespace realizar
