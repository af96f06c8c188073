#include "quant/finite.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "quant/blocks.h"

namespace realizar {
namespace {

// Whether one of n elements has all bits of `mask` set: the exponent's, which then means NaN or infinity.
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

constexpr Half kHalfExponent = 0x7c00;

bool is_special(const std::byte* half) {
  Half bits;
  std::memcpy(&bits, half, sizeof bits);
  return (bits & kHalfExponent) == kHalfExponent;
}

// Whether a scale of a block is NaN or infinite. `second_at`: of the other scale; 0: there is none.
template <class Block>
bool any_scale_is_special(const std::byte* src, size_t n_blocks, size_t first_at, size_t second_at = 0) {
  bool found = false;
  for (size_t i = 0; i < n_blocks; ++i, src += sizeof(Block)) {
    found |= is_special(src + first_at);
    if (second_at > 0) found |= is_special(src + second_at);
  }
  return found;
}

// From this exponent on the largest level, 6, is beyond F32; 255 is NaN.
constexpr uint8_t kLargeExponent = 253;

bool any_exponent_is_large(const std::byte* src, size_t n_blocks) {
  uint8_t largest = 0;
  for (size_t i = 0; i < n_blocks; ++i) {
    largest = std::max(largest, std::to_integer<uint8_t>(src[i * sizeof(BlockMXFP4) + offsetof(BlockMXFP4, e)]));
  }
  return largest >= kLargeExponent;
}

bool may_hold_special(TypeId type, const std::byte* src, size_t n_blocks) {
  switch (type) {
    case TypeId::kF32:
      return any_has<uint32_t>(src, n_blocks, 0x7f800000u);
    case TypeId::kF16:
      return any_has<uint16_t>(src, n_blocks, kHalfExponent);
    case TypeId::kBF16:
      return any_has<uint16_t>(src, n_blocks, 0x7f80);
    case TypeId::kF8_E4M3:
      return any_has<uint8_t>(src, n_blocks, 0x7f);
    case TypeId::kQ4_0:
      return any_scale_is_special<BlockQ4_0>(src, n_blocks, offsetof(BlockQ4_0, d));
    case TypeId::kQ4_1:
      return any_scale_is_special<BlockQ4_1>(src, n_blocks, offsetof(BlockQ4_1, d), offsetof(BlockQ4_1, m));
    case TypeId::kQ5_0:
      return any_scale_is_special<BlockQ5_0>(src, n_blocks, offsetof(BlockQ5_0, d));
    case TypeId::kQ5_1:
      return any_scale_is_special<BlockQ5_1>(src, n_blocks, offsetof(BlockQ5_1, d), offsetof(BlockQ5_1, m));
    case TypeId::kQ8_0:
      return any_scale_is_special<BlockQ8_0>(src, n_blocks, offsetof(BlockQ8_0, d));
    case TypeId::kIQ4_NL:
      return any_scale_is_special<BlockIQ4_NL>(src, n_blocks, offsetof(BlockIQ4_NL, d));
    case TypeId::kIQ4_XS:
      return any_scale_is_special<BlockIQ4_XS>(src, n_blocks, offsetof(BlockIQ4_XS, d));
    case TypeId::kQ2_K:
      return any_scale_is_special<BlockQ2_K>(src, n_blocks, offsetof(BlockQ2_K, d), offsetof(BlockQ2_K, dmin));
    case TypeId::kQ3_K:
      return any_scale_is_special<BlockQ3_K>(src, n_blocks, offsetof(BlockQ3_K, d));
    case TypeId::kQ4_K:
      return any_scale_is_special<BlockQ4_K>(src, n_blocks, offsetof(BlockQ4_K, d), offsetof(BlockQ4_K, dmin));
    case TypeId::kQ5_K:
      return any_scale_is_special<BlockQ5_K>(src, n_blocks, offsetof(BlockQ5_K, d), offsetof(BlockQ5_K, dmin));
    case TypeId::kQ6_K:
      return any_scale_is_special<BlockQ6_K>(src, n_blocks, offsetof(BlockQ6_K, d));
    case TypeId::kMXFP4:
      return any_exponent_is_large(src, n_blocks);
  }
  return true;
}

}  // namespace

bool all_finite(TypeId type, const std::byte* src, size_t n) {
  const TypeTraits& t = traits(type);
  if (!may_hold_special(type, src, n / t.block_elems)) return true;
  std::vector<float> values(t.block_elems);
  for (size_t i = 0; i < n; i += t.block_elems, src += t.block_bytes) {
    t.decode(src, values.data(), t.block_elems);
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) return false;
  }
  return true;
}

}  // namespace realizar
