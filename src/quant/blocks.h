// The types' blocks as stored in a file: packed little-endian structs. Block types follow the GGUF specification and
// its reference quantizers; kernels and codecs access them only through these names. A block's scales are called d, m,
// dmin or e: finite.cpp finds them by these names, unless they are packed.
#pragma once

#include <cstdint>

namespace realizar {

inline constexpr int kBlockElems = 32;        // for the small block types
inline constexpr int kSuperBlockElems = 256;  // for the K, IQ and TQ types
using Half = uint16_t;                        // IEEE binary16 bits

// Plain types have blocks of one element.
struct BlockF32 {
  float x;
};
struct BlockF16 {
  Half x;
};
struct BlockBF16 {
  uint16_t x;
};
struct BlockF8_E4M3 {
  uint8_t x;
};

// x[i] = d * (q[i] - 8). Nibbles: qs[j] holds elements j (low) and j + 16 (high), also in all types below.
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
// x[i] = d * level q[i] of levels_of(Codes::kIq4)
struct BlockIQ4_NL {
  Half d;
  uint8_t qs[16];
};
// x[i] = 2^(e - 127) * E2M1 value of q[i] (OCP Microscaling Formats 1.0)
struct BlockMXFP4 {
  uint8_t e;
  uint8_t qs[16];
};

// 16 sub-blocks of 16: x = d * (scales[s] & 15) * q - dmin * (scales[s] >> 4), 2-bit q.
// The bits of element 128h + 32j + l are in qs[32h + l] at 2j.
struct BlockQ2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  Half d, dmin;
};
// 16 sub-blocks of 16: x = d * (scale6[s] - 32) * (q - 4), 3-bit q: two bits as in Q2_K, the third at bit 4h + j of
// hmask[l].
struct BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];  // 16 scales of 6 bits: low nibbles in bytes 0-7, high bits in bytes 8-11
  Half d;
};
// 8 sub-blocks of 32: x = d * scale6[s] * q - dmin * min6[s], 4-bit q. Sub-blocks 2p and 2p + 1 share
// qs[32p .. 32p + 31] (low and high nibbles).
struct BlockQ4_K {
  Half d, dmin;
  uint8_t scales[12];  // 8 scales and 8 mins of 6 bits
  uint8_t qs[128];
};
// Q4_K with a fifth bit: bit s of qh[l] belongs to element l of sub-block s.
struct BlockQ5_K {
  Half d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
// 16 sub-blocks of 16: x = d * scales[s] * (q - 32), 6-bit q. In each half h of 128: element 32j + l has its low nibble
// in ql[64h + 32(j & 1) + l] (low for j < 2, else high) and its high bits in qh[32h + l] at 2j.
struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  Half d;
};
// 8 sub-blocks of 32: x = d * (scale6[s] - 32) * level q of levels_of(Codes::kIq4)
struct BlockIQ4_XS {
  Half d;
  uint16_t scales_h;    // bits 2s: the high bits of scale s
  uint8_t scales_l[4];  // nibble s: its low bits
  uint8_t qs[128];      // sub-block s: qs[16s ..]
};
// x = d * qs[i]; bsums are the sums of 16 values each, which are not used here.
struct BlockQ8_K {
  float d;
  int8_t qs[256];
  int16_t bsums[16];
};

// The IQ types: elements are points of a grid (point_grids.h), a level for each element, and separate signs. "Even
// signs" are seven bits for eight elements; the eighth makes the number of negative ones even.

// 8 sub-blocks of 32: x = d * (scale4[s] + 1/2) / 4 * level. Each sub-block has the indices of four points of eight
// elements, a byte each, then 32 bits: four times even signs, and the scale in the upper bits.
struct BlockIQ2_XXS {
  Half d;
  uint16_t qs[32];
};
// 16 sub-blocks of 16: x = d * (scale4[s] + 1/2) / 4 * level. Eight elements form a point, whose index is the lower 9
// bits of an element of qs, with their even signs above.
struct BlockIQ2_XS {
  Half d;
  uint16_t qs[32];
  uint8_t scales[8];  // nibble s
};
// Like IQ2_XS with two more index bits for each point, bits 2k of qh[s] for point k of 32 elements s, and a sign for
// each element.
struct BlockIQ2_S {
  Half d;
  uint8_t qs[32];
  uint8_t signs[32];
  uint8_t qh[8];
  uint8_t scales[8];  // nibble s
};
// 8 sub-blocks of 32: x = d * (scale4[s] + 1/2) / 2 * level. Four elements form a point; 32 bits per sub-block as in
// IQ2_XXS.
struct BlockIQ3_XXS {
  Half d;
  uint8_t qs[64];
  uint8_t signs[32];
};
// 8 sub-blocks of 32: x = d * (1 + 2 * scale4[s]) * level, negative if its bit of signs is set. Four elements form a
// point: 8 bits of its index are in qs, the ninth in qh.
struct BlockIQ3_S {
  Half d;
  uint8_t qs[64];
  uint8_t qh[8];
  uint8_t signs[32];
  uint8_t scales[4];  // nibble s
};
// 8 sub-blocks of 32: x = d * (1 + 2 * scale3[s]) * (level +- 1/8), levels -1 to 1. Eight elements form a point: 8 bits
// of its index are in qs, three in qh, whose bits 12 to 14 are the scale and whose bit 15 means that 1/8 is subtracted.
struct BlockIQ1_S {
  Half d;
  uint8_t qs[32];
  uint16_t qh[8];
};
// 16 sub-blocks of 16: like IQ1_S, but each point has a nibble of qh: three bits of its index, and whether 1/8 is
// subtracted. Each of the four 16-bit numbers in `scales` has four scales, and a quarter of the bits of d above them.
struct BlockIQ1_M {
  uint8_t qs[32];
  uint8_t qh[16];
  uint8_t scales[8];
};

// x = d * (q - 1), with q from 0 to 2 as base-3 digits (tq1_0_place).
struct BlockTQ1_0 {
  uint8_t qs[48];  // five digits each
  uint8_t qh[4];   // four digits each
  Half d;
};
// x = d * (q - 1), 2-bit q, stored as in Q2_K.
struct BlockTQ2_0 {
  uint8_t qs[64];
  Half d;
};
// 128 elements: x = d where bit i is set, else -d
struct BlockQ1_0 {
  Half d;
  uint8_t qs[16];
};
// 64 elements: x = d * (q[i] - 1), 2-bit q, the first element's in the lowest bits
struct BlockQ2_0 {
  Half d;
  uint8_t qs[16];
};
// 64 elements, 4 sub-blocks of 16: x = scale * E2M1 value of q[i]. The scales are E4M3 numbers without sign; elements
// 16s + j and 16s + 8 + j are the nibbles of qs[8s + j].
struct BlockNVFP4 {
  uint8_t scales[4];
  uint8_t qs[32];
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockIQ4_NL) == 18);
static_assert(sizeof(BlockMXFP4) == 17 && sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockIQ4_XS) == 136 && sizeof(BlockQ8_K) == 292);
static_assert(sizeof(BlockIQ2_XXS) == 66 && sizeof(BlockIQ2_XS) == 74 && sizeof(BlockIQ2_S) == 82);
static_assert(sizeof(BlockIQ3_XXS) == 98 && sizeof(BlockIQ3_S) == 110);
static_assert(sizeof(BlockIQ1_S) == 50 && sizeof(BlockIQ1_M) == 56);
static_assert(sizeof(BlockTQ1_0) == 54 && sizeof(BlockTQ2_0) == 66 && sizeof(BlockNVFP4) == 36);
static_assert(sizeof(BlockQ1_0) == 18 && sizeof(BlockQ2_0) == 18);

}  // namespace realizar
