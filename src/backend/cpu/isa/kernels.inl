// Every kernel, written once over sixteen lanes (vec_*.inl): lane i is row i of a panel in products, element i of a
// vector elsewhere. Sums run over columns in rising order, so a result depends on the row's length alone.

// Values of registers must not travel through memory; lanes that are arrays do so anyway, and only compile longer.
#if defined(RZ_LANES_ARE_ARRAYS)
#define RZ_INLINE inline
#else
#define RZ_INLINE [[gnu::always_inline]] inline
#endif

// Asks for n_bytes of a stream some way ahead of where it is read.
RZ_INLINE void prefetch(const uint8_t* at, uint32_t n_bytes) {
  constexpr uint32_t kBytesAhead = 4096;
  for (uint32_t line = 0; line < n_bytes; line += 64) __builtin_prefetch(at + kBytesAhead + line);
}

// The levels of the non-linear types, moved up by the layout's offset so that they are unsigned.
alignas(16) constexpr uint8_t kIq4Codes[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
alignas(16) constexpr uint8_t kE2M1Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

// The first n < 16 elements, zeros behind them.
inline F load_tail(const float* p, uint32_t n) {
  float lanes[16] = {};
  for (uint32_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}

// Each file needs the ones before it.
// clang-format off
#include "backend/cpu/isa/block_products.inl"
#include "backend/cpu/isa/plain_products.inl"
#include "backend/cpu/isa/vectors.inl"
#include "backend/cpu/isa/attention.inl"
#include "backend/cpu/isa/peaks.inl"
// clang-format on

// The table's rows, in the order of PanelKind.
#define RZ_FOR_LAYOUTS(function)                                                                                     \
  function(kQ4_0Layout), function(kQ4_1Layout), function(kQ5_0Layout), function(kQ5_1Layout), function(kQ8_0Layout), \
      function(kIQ4_NLLayout), function(kMXFP4Layout), function(kQ2_KLayout), function(kQ3_KLayout),                 \
      function(kQ4_KLayout), function(kQ5_KLayout), function(kQ6_KLayout), function(kIQ4_XSLayout)
#define RZ_DOT(layout) dot<layout>
#define RZ_SPREAD(layout) spread<layout>
#define RZ_GEMM_INT8(layout) gemm_int8<layout>
#define RZ_UNPACK_F32(layout) unpack<layout, false>
#define RZ_UNPACK_BF16(layout) unpack<layout, true>

constexpr KernelTable make_table(const char* name, const char* arithmetic) {
  return {
      .name = name,
      .arithmetic = arithmetic,
      .gemm_f32_rows = kGemmRows,
      .gemm_bf16_rows = 0,
      .dot = {dot_plain<Plain::kF32>, dot_plain<Plain::kF16>, dot_plain<Plain::kBF16>, dot_plain<Plain::kF8>,
              RZ_FOR_LAYOUTS(RZ_DOT)},
      .unpack_f32 = {unpack_plain<Plain::kF32>, unpack_plain<Plain::kF16>, unpack_plain<Plain::kBF16>,
                     unpack_plain<Plain::kF8>, RZ_FOR_LAYOUTS(RZ_UNPACK_F32)},
      .unpack_bf16 = {},
      .spread = {nullptr, nullptr, nullptr, nullptr, RZ_FOR_LAYOUTS(RZ_SPREAD)},
      .gemm_int8 = {nullptr, nullptr, nullptr, nullptr, RZ_FOR_LAYOUTS(RZ_GEMM_INT8)},
      .gemm_f32 = gemm_f32<kGemmRows>,
      .gemm_bf16 = nullptr,
      .quantize = quantize,
      .to_bf16 = nullptr,
      .split_bf16 = nullptr,
      .split_tile = nullptr,
      .softmax_piece = softmax_piece,
      .load_values = {load_values<Stored::kF32>, load_values<Stored::kF16>, load_values<Stored::kBF16>,
                      load_values<Stored::kQ8_0>, load_values<Stored::kF8>},
      .add_values = {add_values<Stored::kF32>, add_values<Stored::kF16>, add_values<Stored::kBF16>,
                     add_values<Stored::kQ8_0>, add_values<Stored::kF8>},
      .map = map,
      .dot_f32 = dot_f32,
      .sum = sum,
      .axpy = axpy,
      .scale = scale,
      .peak_chains = kPeakChains,
      .peak_read = peak_read,
      .peak_fma = peak_fma,
      .peak_bf16 = nullptr,
      .peak_int8 = peak_int8,
  };
}
