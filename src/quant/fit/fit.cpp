#include "quant/fit/fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/cpu_features.h"
#include "quant/block_scales.h"
#include "quant/half.h"
#include "quant/point_grids.h"
#include "quant/type_table.h"

namespace realizar {
namespace {

inline float half_to_float(Half bits) {
  return fp16_to_float(bits);
}
inline float float_of_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
#define RZ_VALUE [[maybe_unused]] inline
#define RZ_TABLE [[maybe_unused]] constexpr
// Each file needs the previous ones.
// clang-format off
#include "quant/decode.inl"
#include "quant/fit/lanes.inl"
#include "quant/fit/scales.inl"
#include "quant/fit/ranges.inl"
#include "quant/fit/points.inl"
#include "quant/fit/blocks.inl"
#include "quant/fit/iq_blocks.inl"
// clang-format on

template <class Row>
constexpr bool kHasFit = Row::kElems >= 8 &&
                         requires(const Input<std::max<int>(Row::kElems, 8)>& in, typename Row::Block& b) {
  fit(in, b);
};

template <class Row>
RZ_LANES void fit_row(const float* x, const float* weights, std::byte* dst, size_t n) {
  for (size_t at = 0; at < n; at += Row::kElems, dst += sizeof(typename Row::Block)) {
    Input<static_cast<int>(Row::kElems)> in;
    prepare(x + at, weights == nullptr ? nullptr : weights + at, in);
    typename Row::Block block{};
    fit(in, block);
    std::memcpy(dst, &block, sizeof block);
  }
}

// Compiled for two instruction sets. It has no intrinsics and no fused products, and code that is not inlined here is
// compiled for the baseline, so that both give the same results and neither can replace code of other files.
template <class Row>
void fit_anywhere(const float* x, const float* weights, std::byte* dst, size_t n) {
  fit_row<Row>(x, weights, dst, n);
}
#if defined(__x86_64__)
template <class Row>
__attribute__((target("avx2"))) void fit_with_avx2(const float* x, const float* weights, std::byte* dst, size_t n) {
  fit_row<Row>(x, weights, dst, n);
}
#endif

// Converts halves by arithmetic on their bits: adds 112 to the exponent, also for subnormal ones.
RZ_LANES bool widen_halves(const std::byte* src, float* dst, size_t n) {
  uint32_t n_bad = 0;
  for (size_t i = 0; i < n; ++i) {
    uint16_t half;
    std::memcpy(&half, src + 2 * i, sizeof half);
    const float magnitude = std::bit_cast<float>((half & 0x7fffu) << 13) * 0x1p112f;
    dst[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | (half & 0x8000u) << 16);
    n_bad |= (half & 0x7c00u) == 0x7c00u ? 1u : 0u;
  }
  return n_bad == 0;
}
RZ_LANES bool widen_bf16(const std::byte* src, float* dst, size_t n) {
  uint32_t n_bad = 0;
  for (size_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, src + 2 * i, sizeof bits);
    dst[i] = std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    n_bad |= (bits & 0x7f80u) == 0x7f80u ? 1u : 0u;
  }
  return n_bad == 0;
}
RZ_LANES bool are_finite(const float* x, size_t n) {
  uint32_t n_bad = 0;
  for (size_t i = 0; i < n; ++i) {
    n_bad |= (std::bit_cast<uint32_t>(x[i]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  }
  return n_bad == 0;
}
RZ_LANES bool read_values(TypeId type, const std::byte* src, float* dst, size_t n) {
  if (type == TypeId::kF16) return widen_halves(src, dst, n);
  if (type == TypeId::kBF16) return widen_bf16(src, dst, n);
  if (type == TypeId::kF32) {
    std::memcpy(dst, src, n * sizeof(float));
  } else {
    traits(type).decode(src, dst, n);
  }
  return are_finite(dst, n);
}
bool read_anywhere(TypeId type, const std::byte* src, float* dst, size_t n) {
  return read_values(type, src, dst, n);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) bool read_with_avx2(TypeId type, const std::byte* src, float* dst, size_t n) {
  return read_values(type, src, dst, n);
}
bool has_avx2() {
  static const bool has = cpu_features().avx2;
  return has;
}
#endif

using FitRow = void (*)(const float* x, const float* weights, std::byte* dst, size_t n);

template <class Row>
FitRow fit_of() {
#if defined(__x86_64__)
  if (has_avx2()) return fit_with_avx2<Row>;
#endif
  return fit_anywhere<Row>;
}

}  // namespace

bool read_finite(TypeId type, const std::byte* src, float* dst, size_t n) {
#if defined(__x86_64__)
  if (has_avx2()) return read_with_avx2(type, src, dst, n);
#endif
  return read_anywhere(type, src, dst, n);
}

void fit_blocks(TypeId type, const float* x, const float* weights, std::byte* dst, size_t n) {
  with_row(type, [&](auto row) {
    using Row = decltype(row);
    if constexpr (kHasFit<Row>) {
      fit_of<Row>()(x, weights, dst, n);
    } else {
      traits(type).encode(x, dst, n);
    }
  });
}

}  // namespace realizar
