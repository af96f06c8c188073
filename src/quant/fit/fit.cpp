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
// Each file needs the ones before it.
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
constexpr bool kHasFit = requires(const Input<static_cast<int>(Row::kElems)>& in, typename Row::Block& b) {
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

// The same code for two instruction sets. It has no intrinsics and no fused products, and whatever is not inlined here
// is compiled for the baseline, so that both give the same and neither can replace code of other files.
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

using FitRow = void (*)(const float* x, const float* weights, std::byte* dst, size_t n);

template <class Row>
FitRow fit_of(bool has_avx2) {
#if defined(__x86_64__)
  if (has_avx2) return fit_with_avx2<Row>;
#endif
  static_cast<void>(has_avx2);
  return fit_anywhere<Row>;
}

}  // namespace

void fit_blocks(TypeId type, const float* x, const float* weights, std::byte* dst, size_t n) {
  static const bool has_avx2 = cpu_features().avx2;
  with_row(type, [&](auto row) {
    using Row = decltype(row);
    if constexpr (kHasFit<Row>) {
      fit_of<Row>(has_avx2)(x, weights, dst, n);
    } else {
      traits(type).encode(x, dst, n);
    }
  });
}

}  // namespace realizar
