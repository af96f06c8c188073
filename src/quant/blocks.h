// The block types as they lie in a file: packed little-endian structs. Layouts are those of the GGUF specification and
// its reference quantizers; kernels and codecs read them through these names only.
#pragma once

#include <array>
#include <cstdint>

namespace realizar {

inline constexpr int kBlockElems = 32;        // of the small block types
inline constexpr int kSuperBlockElems = 256;  // of the K types and IQ4_XS
using Half = uint16_t;                        // IEEE binary16 bits

// x[i] = d * (q[i] - 8). Nibbles: qs[j] holds elements j (low) and j + 16 (high); so in all types below.
struct BlockQ4_0 {
  Half d;
  uint8_t qs[16];
};
// x[i] = d * q[i] + m
struct BlockQ4_1 {
  Half d, m;
  uint8_t qs[16];
};
// x[i] = d * (q[i] - 16); bit i of qh is the fifth bit of element i
struct BlockQ5_0 {
  Half d;
  uint8_t qh[4];
  uint8_t qs[16];
};
// x[i] = d * q[i] + m
struct BlockQ5_1 {
  Half d, m;
  uint8_t qh[4];
  uint8_t qs[16];
};
// x[i] = d * qs[i]
struct BlockQ8_0 {
  Half d;
  int8_t qs[32];
};
// x[i] = d * kIq4Values[q[i]]
struct BlockIQ4_NL {
  Half d;
  uint8_t qs[16];
};
// x[i] = 2^(e - 127) * E2M1 value of q[i] (OCP Microscaling Formats 1.0)
struct BlockMXFP4 {
  uint8_t e;
  uint8_t qs[16];
};

// 16 sub-blocks of 16: x = d * (scales[s] & 15) * q - dmin * (scales[s] >> 4), q of 2 bits.
// Element 128h + 32j + l has its bits in qs[32h + l] at 2j.
struct BlockQ2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  Half d, dmin;
};
// 16 sub-blocks of 16: x = d * (scale6[s] - 32) * (q - 4), q of 3 bits: two as in Q2_K, the third at bit 4h + j of
// hmask[l].
struct BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];  // 16 scales of 6 bits: low nibbles in bytes 0-7, high bits in bytes 8-11
  Half d;
};
// 8 sub-blocks of 32: x = d * scale6[s] * q - dmin * min6[s], q of 4 bits. Sub-blocks 2p and 2p + 1 share
// qs[32p .. 32p + 31] (low and high nibbles).
struct BlockQ4_K {
  Half d, dmin;
  uint8_t scales[12];  // 8 scales and 8 mins of 6 bits
  uint8_t qs[128];
};
// As Q4_K with a fifth bit: bit s of qh[l] for element l of sub-block s.
struct BlockQ5_K {
  Half d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
// 16 sub-blocks of 16: x = d * scales[s] * (q - 32), q of 6 bits. In each half h of 128: element 32j + l has its low
// nibble in ql[64h + 32(j & 1) + l] (low for j < 2, else high) and its high bits in qh[32h + l] at 2j.
struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  Half d;
};
// 8 sub-blocks of 32: x = d * (scale6[s] - 32) * kIq4Values[q]
struct BlockIQ4_XS {
  Half d;
  uint16_t scales_h;    // bits 2s: the high bits of scale s
  uint8_t scales_l[4];  // nibble s: its low bits
  uint8_t qs[128];      // sub-block s: qs[16s ..]
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockIQ4_NL) == 18);
static_assert(sizeof(BlockMXFP4) == 17 && sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockIQ4_XS) == 136);

// The 16 levels of the non-linear 4-bit types.
inline constexpr std::array<int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};
// Twice the E2M1 values, so that they are integers; the scale is halved instead.
inline constexpr std::array<int8_t, 16> kE2M1Doubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

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
