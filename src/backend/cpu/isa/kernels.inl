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

// The levels of codes, moved up by the layout's offset so that they are unsigned.
struct RaisedLevels {
  alignas(16) uint8_t code[16];
};
constexpr RaisedLevels raised(CodeLevels levels, int offset) {
  RaisedLevels r{};
  for (int i = 0; i < 16; ++i) r.code[i] = static_cast<uint8_t>(levels.level[i] + offset);
  return r;
}
template <Codes kCodes, int kOffset>
constexpr RaisedLevels kRaisedLevels = raised(levels_of(kCodes), kOffset);

// Sums of rows with panels, in registers: cleared, added to others, and stored as y[r * stride + 16 * p + i].
template <int kRows, int kPanels>
RZ_INLINE void clear(F (&sums)[kRows][kPanels]) {
  for (auto& of_row : sums) {
    for (F& sum : of_row) sum = zero();
  }
}
template <int kRows, int kPanels>
RZ_INLINE void add_to(F (&sums)[kRows][kPanels], const F (&a)[kRows][kPanels]) {
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) sums[r][p] = add(sums[r][p], a[r][p]);
  }
}
template <int kRows, int kPanels>
RZ_INLINE void store_rows(float* y, uint32_t stride, const F (&sums)[kRows][kPanels]) {
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) store(y + size_t{stride} * r + 16 * p, sums[r][p]);
  }
}

// The first n < 16 elements, followed by zeros.
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
#include "backend/cpu/isa/delta.inl"
#include "backend/cpu/isa/wkv.inl"
#include "backend/cpu/isa/scan.inl"
#include "backend/cpu/isa/peaks.inl"
// clang-format on

// What the layout of a type runs. Unpacking to bf16 is for levels with tiles of it.
template <class Row>
constexpr TypeKernels type_kernels() {
  TypeKernels kernels{};
  if constexpr (Row::kLayout == Layout::kPlain) {
    kernels.dot_plain = dot_plain<Row::kId>;
    kernels.score = score_plain<Row::kId>;
    kernels.unpack_f32 = unpack_plain<Row::kId>;
#if defined(RZ_BF16)
    if constexpr (Row::kId != TypeId::kF32) kernels.unpack_bf16 = unpack_plain_bf16<Row::kId>;
#endif
  }
  if constexpr (Row::kLayout == Layout::kGroups) {
    constexpr PanelLayout kPanel{Row::kForm};
    kernels.dot = dot<kPanel>;
    kernels.unpack_f32 = unpack<kPanel, false>;
#if defined(RZ_BF16)
    kernels.unpack_bf16 = unpack<kPanel, true>;
#endif
    kernels.unpack_codes = unpack_codes<kPanel>;
    kernels.gemm_int8 = gemm_int8<kPanel>;
    if constexpr (Row::kId == TypeId::kQ8_0 || Row::kId == TypeId::kQ4_0) kernels.score = score_groups<kPanel>;
  }
  return kernels;
}

// Whether these are all that products with the layout call.
constexpr bool are_complete(const TypeKernels& kernels, Layout layout) {
  switch (layout) {
    case Layout::kPlain:
      return kernels.dot_plain != nullptr && kernels.unpack_f32 != nullptr;
    case Layout::kGroups:
      return kernels.dot != nullptr && kernels.unpack_f32 != nullptr && kernels.unpack_codes != nullptr &&
             kernels.gemm_int8 != nullptr;
    case Layout::kStored:
      return true;
  }
  return false;
}

template <class... Rows>
constexpr void put_kernels(TypeKernels* types, TypeList<Rows...>) {
#if !defined(__SANITIZE_ADDRESS__)  // with the checks of that build GCC cannot compare functions in a constant
  static_assert((are_complete(type_kernels<Rows>(), Rows::kLayout) && ...));
#endif
  ((*types++ = type_kernels<Rows>()), ...);
}

constexpr KernelTable make_table(const char* name, const char* arithmetic) {
  KernelTable table{
      .name = name,
      .arithmetic = arithmetic,
      .dot_rows = kDotRows,
      .direct_rows = kDirectRows,
      .gemm_f32_rows = kGemmRows,
      .gemm_bf16_rows = 0,
      .types = {},
      .gemm_f32 = gemm_f32<kGemmRows, false>,
      .gemm_f32_chain = gemm_f32<kGemmRows, true>,
      .gemm_bf16 = nullptr,
      .gemm_row_tiles = nullptr,
      .configure_tiles = nullptr,
      .quantize = quantize,
      .to_bf16 = nullptr,
      .split_bf16 = nullptr,
      .split_tile = nullptr,
      .softmax_piece = softmax_piece,
      .load_values = {load_values<Stored::kF32>, load_values<Stored::kF16>, load_values<Stored::kBF16>,
                      load_values<Stored::kQ8_0>, load_values<Stored::kF8>, load_values<Stored::kQ4_0>},
      .add_values = {add_values<Stored::kF32>, add_values<Stored::kF16>, add_values<Stored::kBF16>,
                     add_values<Stored::kQ8_0>, add_values<Stored::kF8>, add_values<Stored::kQ4_0>},
      .map = map,
      .dot_f32 = dot_f32,
      .sum = sum,
      .axpy = axpy,
      .scale = scale,
      .mul_add = mul_add,
      .delta_row = delta_row,
      .wkv_row = wkv_row,
      .scan_rows = scan_rows,
      .peak_chains = kPeakChains,
      .peak_read = peak_read,
      .peak_fma = peak_fma,
      .peak_bf16 = nullptr,
      .peak_int8 = peak_int8,
  };
  put_kernels(table.types, TypeRows{});
  return table;
}
