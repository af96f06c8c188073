// Block types as groups of 32 columns, from which every backend makes its own layout. The form in the type's row
// defines the meaning of the codes. read_group(block, g) returns group g of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quant/block_scales.h"
#include "quant/point_grids.h"
#include "quant/type_rows.h"

namespace realizar {

// The codes and scales of 32 columns of one row, for any type.
struct Group {
  uint8_t codes[32];
  uint16_t d, m;             // F16 or bf16 bits; the super-block's for Scales::kSuper
  uint8_t scale[2], min[2];  // the sub-blocks', for Scales::kSuper and kE4M3
};

namespace groups {

inline uint8_t u8(int x) {
  return static_cast<uint8_t>(x);
}

// Low nibbles of 16 bytes, then the high ones.
inline void split_nibbles(const uint8_t* qs, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) codes[i] = qs[i] & 15;
  for (int i = 0; i < 16; ++i) codes[16 + i] = qs[i] >> 4;
}

inline uint8_t fifth_bit(const uint8_t* qh, int i) {
  return u8(((qh[i / 8] >> (i % 8)) & 1) << 4);
}

}  // namespace groups

// Blocks with one group of nibbles, perhaps with a fifth bit.
template <class Block>
requires(sizeof(Block::qs) == 16) Group read_group(const Block& b, int) {
  Group group{};
  groups::split_nibbles(b.qs, group.codes);
  if constexpr (requires { b.qh; }) {
    for (int i = 0; i < 32; ++i) group.codes[i] |= groups::fifth_bit(b.qh, i);
  }
  if constexpr (requires { b.m; }) group.m = b.m;
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockQ8_0& b, int) {
  Group group{};
  for (int i = 0; i < 32; ++i) group.codes[i] = groups::u8(b.qs[i] + 128);
  group.d = b.d;
  return group;
}

// The layout's levels are doubled, so the scale is 2^(e - 128): a bf16 with exponent field e - 1, or a subnormal.
inline Group read_group(const BlockMXFP4& b, int) {
  Group group{};
  groups::split_nibbles(b.qs, group.codes);
  group.d = b.e >= 2 ? static_cast<uint16_t>((b.e - 1) << 7) : static_cast<uint16_t>(b.e == 1 ? 0x40 : 0x20);
  return group;
}

inline Group read_group(const BlockQ2_K& b, int s) {
  Group group{};
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[32 * (s / 4) + l] >> (2 * (s % 4))) & 3;
  for (int h = 0; h < 2; ++h) {
    group.scale[h] = b.scales[2 * s + h] & 15;
    group.min[h] = b.scales[2 * s + h] >> 4;
  }
  group.d = b.d;
  group.m = b.dmin;
  return group;
}

inline Group read_group(const BlockQ3_K& b, int s) {
  Group group{};
  for (int l = 0; l < 32; ++l) {
    group.codes[l] = groups::u8(((b.qs[32 * (s / 4) + l] >> (2 * (s % 4))) & 3) | (((b.hmask[l] >> s) & 1) << 2));
  }
  for (int h = 0; h < 2; ++h) group.scale[h] = groups::u8(q3_k_scale(b.scales, 2 * s + h));
  group.d = b.d;
  return group;
}

template <class Block>
requires(sizeof(Block::qs) == 128 && requires(Block b) { b.dmin; }) Group read_group(const Block& b, int s) {
  Group group{};
  const int shift = 4 * (s % 2);
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[32 * (s / 2) + l] >> shift) & 15;
  if constexpr (requires { b.qh; }) {
    for (int l = 0; l < 32; ++l) group.codes[l] |= groups::u8(((b.qh[l] >> s) & 1) << 4);
  }
  const ScaleMin sm = q4_k_scale_min(b.scales, s);
  group.scale[0] = sm.scale;
  group.min[0] = sm.min;
  group.d = b.d;
  group.m = b.dmin;
  return group;
}

inline Group read_group(const BlockQ6_K& b, int s) {
  const int h = s / 4, j = s % 4;
  Group group{};
  const int shift = j < 2 ? 0 : 4;
  for (int l = 0; l < 32; ++l) {
    const int low = (b.ql[64 * h + 32 * (j & 1) + l] >> shift) & 15;
    group.codes[l] = groups::u8(low | (((b.qh[32 * h + l] >> (2 * j)) & 3) << 4));
  }
  for (int k = 0; k < 2; ++k) group.scale[k] = groups::u8(b.scales[2 * s + k]);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ4_XS& b, int s) {
  Group group{};
  groups::split_nibbles(b.qs + 16 * s, group.codes);
  group.scale[0] = groups::u8(iq4_xs_scale(b, s));
  group.d = b.d;
  return group;
}

// The grid types: a code is the digit of a point, with the sign as its highest bit.
namespace groups {

inline constexpr auto kIq1Grid = make_point_grid<2048>(kIq1Map, kIq1Digits);
inline constexpr auto kIq2xxsGrid = make_point_grid<256>(kIq2XxsMap, kIq2Digits);
inline constexpr auto kIq2xsGrid = make_point_grid<512>(kIq2XsMap, kIq2Digits);
inline constexpr auto kIq2sGrid = make_point_grid<1024>(kIq2SMap, kIq2Digits);
inline constexpr auto kIq3xxsGrid = make_point_grid<256>(kIq3XxsMap, kIq3XxsDigits);
inline constexpr auto kIq3sGrid = make_point_grid<512>(kIq3SMap, kIq3SDigits);

// Digits of 2 or 3 bits and a bit of `signs` each, for n elements.
template <int kBits>
void put_point(uint16_t point, uint32_t signs, int n, uint8_t* codes) {
  for (int k = 0; k < n; ++k) {
    codes[k] = u8(((point >> (kBits * k)) & ((1 << kBits) - 1)) | static_cast<int>(signs >> k & 1) << kBits);
  }
}

// Stores twice the scale q + 1/2.
inline void put_odd_scale(uint32_t q, uint8_t& scale) {
  scale = static_cast<uint8_t>(2 * (q & 15) + 1);
}
inline void put_odd_scales(uint8_t both, Group& group) {
  put_odd_scale(both, group.scale[0]);
  put_odd_scale(both >> 4, group.scale[1]);
}

}  // namespace groups

inline Group read_group(const BlockIQ2_XXS& b, int s) {
  Group group{};
  const uint32_t signs = iq2_xxs_signs(b, s);
  for (int l = 0; l < 4; ++l) {
    const uint16_t point = groups::kIq2xxsGrid.points[iq2_xxs_point(b, 4 * s + l)];
    groups::put_point<2>(point, signs_of_seven(signs >> (7 * l)), 8, group.codes + 8 * l);
  }
  groups::put_odd_scale(signs >> 28, group.scale[0]);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ2_XS& b, int s) {
  Group group{};
  for (int l = 0; l < 4; ++l) {
    const uint32_t bits = b.qs[4 * s + l];
    groups::put_point<2>(groups::kIq2xsGrid.points[bits & 511], signs_of_seven(bits >> 9), 8, group.codes + 8 * l);
  }
  groups::put_odd_scales(b.scales[s], group);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ2_S& b, int s) {
  Group group{};
  for (int p = 4 * s; p < 4 * s + 4; ++p) {
    groups::put_point<2>(groups::kIq2sGrid.points[iq2_s_point(b, p)], b.signs[p], 8, group.codes + 8 * (p % 4));
  }
  groups::put_odd_scales(b.scales[s], group);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ3_XXS& b, int s) {
  Group group{};
  const uint32_t signs = iq3_xxs_signs(b, s);
  for (int l = 0; l < 8; ++l) {
    const uint32_t eight = signs_of_seven(signs >> (7 * (l / 2)));
    groups::put_point<3>(groups::kIq3xxsGrid.points[b.qs[8 * s + l]], eight >> (4 * (l % 2)), 4, group.codes + 4 * l);
  }
  groups::put_odd_scale(signs >> 28, group.scale[0]);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ3_S& b, int s) {
  Group group{};
  for (int p = 8 * s; p < 8 * s + 8; ++p) {
    const uint32_t signs = static_cast<uint32_t>(b.signs[p / 2]) >> (4 * (p % 2));
    groups::put_point<3>(groups::kIq3sGrid.points[iq3_s_point(b, p)], signs, 4, group.codes + 4 * (p % 8));
  }
  groups::put_odd_scale(b.scales[s / 2] >> (4 * (s % 2)), group.scale[0]);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ1_S& b, int s) {
  Group group{};
  const uint32_t below = (b.qh[s] & 0x8000) != 0 ? 255 : 0;
  for (int p = 4 * s; p < 4 * s + 4; ++p) {
    groups::put_point<2>(groups::kIq1Grid.points[iq1_s_point(b, p)], below, 8, group.codes + 8 * (p % 4));
  }
  groups::put_odd_scale(b.qh[s] >> 12 & 7, group.scale[0]);
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockIQ1_M& b, int s) {
  Group group{};
  for (int p = 4 * s; p < 4 * s + 4; ++p) {
    groups::put_point<2>(groups::kIq1Grid.points[iq1_m_point(b, p)], iq1_m_is_below(b, p) ? 255 : 0, 8,
                         group.codes + 8 * (p % 4));
  }
  for (int h = 0; h < 2; ++h) group.scale[h] = groups::u8(iq1_m_scale(b, 2 * s + h));
  group.d = iq1_m_d(b);
  return group;
}

inline Group read_group(const BlockTQ1_0& b, int s) {
  Group group{};
  for (int l = 0; l < 32; ++l) {
    const TernaryPlace at = tq1_0_place(32 * s + l);
    group.codes[l] = groups::u8(ternary_digit(at.in_qh ? b.qh[at.byte] : b.qs[at.byte], at.digit));
  }
  group.scale[0] = 1;
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockTQ2_0& b, int s) {
  Group group{};
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[32 * (s / 4) + l] >> (2 * (s % 4))) & 3;
  group.scale[0] = 1;
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockQ1_0& b, int g) {
  Group group{};
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[4 * g + l / 8] >> (l % 8)) & 1;
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockQ2_0& b, int g) {
  Group group{};
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[8 * g + l / 4] >> (2 * (l % 4))) & 3;
  group.d = b.d;
  return group;
}

inline Group read_group(const BlockNVFP4& b, int g) {
  Group group{};
  for (int h = 0; h < 2; ++h) {
    const uint8_t* qs = b.qs + 8 * (2 * g + h);
    for (int l = 0; l < 16; ++l) group.codes[16 * h + l] = (qs[l % 8] >> (4 * (l / 8))) & 15;
    group.scale[h] = b.scales[2 * g + h] & 0x7f;
  }
  return group;
}

// A copy of block b of a stored row, since blocks of odd size are unaligned.
template <class Row>
typename Row::Block block_of(const std::byte* row, uint32_t b) {
  typename Row::Block block;
  std::memcpy(&block, row + size_t{b} * sizeof block, sizeof block);
  return block;
}

}  // namespace realizar
