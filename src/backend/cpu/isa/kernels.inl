// Every kernel, written once over sixteen lanes (vec_*.inl): lane i is row i of a panel in products, element i of a
// vector elsewhere. Sums run over columns in ascending order, so a result depends only on the row's length.

// Inlined so that values stay in registers; lanes that are arrays are in memory anyway and would only compile longer.
#if defined(RZ_LANES_ARE_ARRAYS)
#define RZ_INLINE inline
#else
#define RZ_INLINE [[gnu::always_inline]] inline
#endif

// Prefetches n_bytes of a stream some way ahead of where it is read.
RZ_INLINE void prefetch(const uint8_t* at, uint32_t n_bytes) {
  constexpr uint32_t kBytesAhead = 4096;
  for (uint32_t line = 0; line < n_bytes; line += 64) __builtin_prefetch(at + kBytesAhead + line);
}

// The levels of codes plus the layout's offset, which makes them unsigned.
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

// Sums of rows with panels, in registers.
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

// Order matters: each file depends on the ones before it.
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

// The part of a level (kernels.h) with a type's products. Types of one form are in one part, which shares their code.
template <class Row>
constexpr int part_of() {
  if (Row::kLayout != Layout::kGroups) return 0;
  const bool has_sub_scales = Row::kForm.scales == Scales::kSuper || Row::kForm.scales == Scales::kE4M3;
  return !has_sub_scales ? 1 : Row::kForm.sub == 32 ? 2 : 3;
}

template <class Row>
void put_plain_products(TypeKernels& kernels) {
  kernels.dot_plain = dot_plain<Row::kId>;
  kernels.score = score_plain<Row::kId>;
  kernels.unpack_f32 = unpack_plain<Row::kId>;
}

template <class Row>
void put_int8_products(TypeKernels& kernels) {
  constexpr PanelLayout kPanel{Row::kForm};
  kernels.dot = dot<kPanel>;
  kernels.gemm_int8 = gemm_int8<kPanel>;
}

template <class Row>
void put_unpacking(TypeKernels& kernels) {
  constexpr PanelLayout kPanel{Row::kForm};
  kernels.unpack_f32 = unpack<kPanel, false>;
  kernels.unpack_codes = unpack_codes<kPanel>;
  if constexpr (Row::kId == TypeId::kQ8_0 || Row::kId == TypeId::kQ4_0) kernels.score = score_groups<kPanel>;
}

template <int kPart, class Row>
void put_type(TypeKernels& kernels) {
  if constexpr (part_of<Row>() == kPart && Row::kLayout == Layout::kPlain) put_plain_products<Row>(kernels);
  if constexpr (part_of<Row>() == kPart && Row::kLayout == Layout::kGroups) {
    put_int8_products<Row>(kernels);
    put_unpacking<Row>(kernels);
  }
}

template <int kPart, class... Rows>
void put_types(TypeKernels* types, TypeList<Rows...>) {
  (put_type<kPart, Rows>(*types++), ...);
}

inline void put_vector_kernels(KernelTable& table) {
  table.dot_rows = kDotRows;
  table.direct_rows = kDirectRows;
  table.gemm_f32_rows = kGemmRows;
  table.gemm_f32 = gemm_f32<kGemmRows, false>;
  table.gemm_f32_chain = gemm_f32<kGemmRows, true>;
  table.quantize = quantize;
  table.softmax_piece = softmax_piece;
  constexpr decltype(table.load_values) kLoadValues = {load_values<Stored::kF32>,  load_values<Stored::kF16>,
                                                       load_values<Stored::kBF16>, load_values<Stored::kQ8_0>,
                                                       load_values<Stored::kF8>,   load_values<Stored::kQ4_0>};
  constexpr decltype(table.add_values) kAddValues = {add_values<Stored::kF32>,  add_values<Stored::kF16>,
                                                     add_values<Stored::kBF16>, add_values<Stored::kQ8_0>,
                                                     add_values<Stored::kF8>,   add_values<Stored::kQ4_0>};
  for (int i = 0; i < 6; ++i) {
    table.load_values[i] = kLoadValues[i];
    table.add_values[i] = kAddValues[i];
  }
  table.map = map;
  table.dot_f32 = dot_f32;
  table.sum = sum;
  table.axpy = axpy;
  table.scale = scale;
  table.mul_add = mul_add;
  table.delta_row = delta_row;
  table.wkv_row = wkv_row;
  table.scan_rows = scan_rows;
  table.peak_chains = kPeakChains;
  table.peak_read = peak_read;
  table.peak_fma = peak_fma;
  table.peak_int8 = peak_int8;
}

template <int kPart>
void put_part(KernelTable& table) {
  put_types<kPart>(table.types, TypeRows{});
  if constexpr (kPart == 0) put_vector_kernels(table);
}

template <class Row>
void put_if_int8(TypeKernels& kernels) {
  if constexpr (Row::kLayout == Layout::kGroups) put_int8_products<Row>(kernels);
}

template <class... Rows>
void put_int8_types(TypeKernels* types, TypeList<Rows...>) {
  (put_if_int8<Rows>(*types++), ...);
}

// The kernels of a level that differs from the one below only in its byte products.
inline void put_int8_kernels(KernelTable& table) {
  put_int8_types(table.types, TypeRows{});
  table.peak_int8 = peak_int8;
}
