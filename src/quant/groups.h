// Block types as groups of 32 columns: what every backend makes its own layout from. What the codes mean is the form of
// the type's row. read_group(block, g) gives group g of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quant/block_scales.h"
#include "quant/type_rows.h"

namespace realizar {

// The codes and scales of 32 columns of one row, whatever type they came from.
struct Group {
  uint8_t codes[32];
  uint16_t d, m;             // F16 or bf16 bits; of the super-block for Scales::kSuper
  uint8_t scale[2], min[2];  // of the sub-blocks, for Scales::kSuper
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

// Blocks that are one group of nibbles, perhaps with a fifth bit.
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

// Group g of a stored row.
template <class Row>
Group read_group_of(const std::byte* row, uint32_t g) {
  constexpr uint32_t kGroups = Row::kElems / 32;
  typename Row::Block block;  // a copy, since blocks of odd size lie unaligned
  std::memcpy(&block, row + size_t{g / kGroups} * sizeof block, sizeof block);
  return read_group(block, static_cast<int>(g % kGroups));
}

}  // namespace realizar
