#include "quant/finite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "quant/block_scales.h"
#include "quant/type_table.h"

namespace realizar {
namespace {

// Whether all bits of `mask` are set in one of n elements.
template <class T>
bool any_has(const std::byte* src, size_t n, T mask) {
  T found = 0;
  for (size_t i = 0; i < n; ++i) {
    T bits;
    std::memcpy(&bits, src + i * sizeof(T), sizeof(T));
    found = static_cast<T>(found | static_cast<T>((bits & mask) == mask));
  }
  return found != 0;
}

// Whether a block's scale is NaN or infinite, or so large that its products may be; or one of the scales that a block
// packs.
template <class Scale>
bool is_special(Scale scale) {
  if constexpr (std::is_same_v<Scale, float>) {
    constexpr uint32_t kLargeExponent = 127 + 64;  // of 2^64; no integer of a block multiplies it beyond F32
    return ((std::bit_cast<uint32_t>(scale) >> 23) & 255) >= kLargeExponent;
  } else if constexpr (std::is_same_v<Scale, Half>) {
    constexpr Half kExponent = 0x7c00;
    return (scale & kExponent) == kExponent;
  } else if constexpr (std::is_same_v<Scale, BlockIQ1_M>) {
    return is_special(iq1_m_d(scale));
  } else if constexpr (std::is_same_v<Scale, BlockNVFP4>) {
    return std::ranges::any_of(scale.scales, [](uint8_t e4m3) { return (e4m3 & 0x7f) == 0x7f; });
  } else {
    static_assert(std::is_same_v<Scale, uint8_t>);
    return scale >= 253;  // an exponent: from here on MXFP4's largest level, 6, exceeds F32; 255 is NaN
  }
}

template <class Scale>
bool is_special_at(const std::byte* src) {
  Scale scale;
  std::memcpy(&scale, src, sizeof scale);
  return is_special(scale);
}

// Only the scales that blocks have as named members are read, not the block.
template <class Block>
bool has_special_named_scale(const std::byte* src) {
  constexpr bool kHasD = requires(Block b) {
    b.d;
  }
  , kHasE = requires(Block b) {
    b.e;
  };
  static_assert(kHasD || kHasE, "a block's scales are known by their names");
  bool found = false;
  if constexpr (kHasD) found |= is_special_at<decltype(Block::d)>(src + offsetof(Block, d));
  if constexpr (kHasE) found |= is_special_at<decltype(Block::e)>(src + offsetof(Block, e));
  if constexpr (requires(Block b) { b.m; }) found |= is_special_at<Half>(src + offsetof(Block, m));
  if constexpr (requires(Block b) { b.dmin; }) found |= is_special_at<Half>(src + offsetof(Block, dmin));
  return found;
}

template <class Block>
bool has_special_scale(const std::byte* src) {
  if constexpr (std::is_same_v<Block, BlockIQ1_M> || std::is_same_v<Block, BlockNVFP4>) {
    return is_special_at<Block>(src);
  } else {
    return has_special_named_scale<Block>(src);
  }
}

template <class Row>
bool may_hold_special(const std::byte* src, size_t n_blocks) {
  using Block = typename Row::Block;
  if constexpr (Row::kId == TypeId::kF32) {
    return any_has<uint32_t>(src, n_blocks, 0x7f800000u);
  } else if constexpr (Row::kId == TypeId::kF16) {
    return any_has<uint16_t>(src, n_blocks, 0x7c00);
  } else if constexpr (Row::kId == TypeId::kBF16) {
    return any_has<uint16_t>(src, n_blocks, 0x7f80);
  } else if constexpr (Row::kId == TypeId::kF8_E4M3) {
    return any_has<uint8_t>(src, n_blocks, 0x7f);
  } else {
    bool found = false;
    for (size_t i = 0; i < n_blocks; ++i, src += sizeof(Block)) found |= has_special_scale<Block>(src);
    return found;
  }
}

}  // namespace

bool all_finite(TypeId type, const std::byte* src, size_t n) {
  const TypeTraits& t = traits(type);
  bool is_certain = false;
  with_row(type, [&]<class Row>(Row) { is_certain = !may_hold_special<Row>(src, n / Row::kElems); });
  if (is_certain) return true;
  std::vector<float> values(t.block_elems);
  for (size_t i = 0; i < n; i += t.block_elems, src += t.block_bytes) {
    t.decode(src, values.data(), t.block_elems);
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) return false;
  }
  return true;
}

}  // namespace realizar
