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

// ---- products with panels of block types

template <int kBits, int kVector>
RZ_INLINE B plane_bits(const uint8_t* plane) {
  if constexpr (kBits == 8) return load_bytes(plane + 64 * kVector);
  constexpr int n_vectors = kBits;  // 8 vectors of kBits / 8 bytes an element
  constexpr int shift = kVector / n_vectors * kBits;
  const B packed = load_bytes(plane + 64 * (kVector % n_vectors));
  return mask(shift_right<shift>(packed), (1 << kBits) - 1);
}

template <PanelLayout L, int kVector>
RZ_INLINE B codes(const uint8_t* quants) {
  B low = plane_bits<L.low, kVector>(quants);
  if constexpr (L.codes == Codes::kIq4) low = look_up(low, kIq4Codes);
  if constexpr (L.codes == Codes::kE2M1) low = look_up(low, kE2M1Codes);
  if constexpr (L.high > 0) {
    constexpr int shift = kVector / L.high * L.high;  // where the bits of this vector lie in the byte
    const B packed = load_bytes(quants + 64 * L.low + 64 * (kVector % L.high));
    constexpr uint8_t bits = ((1 << L.high) - 1) << L.low;
    if constexpr (shift > L.low) {
      low = either(low, mask(shift_right<shift - L.low>(packed), bits));
    } else {
      low = either(low, mask(shift_left<L.low - shift>(packed), bits));
    }
  }
  return low;
}

// Columns of kVectors vectors: the exact products of their codes (less code_bias) with a row's quants.
template <int kMaxCode, int kVectors>
RZ_INLINE I dot_vectors(const B* code, const int8_t* q) {
  constexpr int n_run = run_length<kMaxCode>() < kVectors ? run_length<kMaxCode>() : kVectors;
  I sum = set1_i(0);
#pragma GCC unroll 8
  for (int first = 0; first < kVectors; first += n_run) {
    Part part = zero_part();
#pragma GCC unroll 8
    for (int j = first; j < first + n_run; ++j) part = dot4<kMaxCode>(part, code[j], q + 4 * j);
    sum = first == 0 ? whole<kMaxCode>(part) : add_i(sum, whole<kMaxCode>(part));
  }
  return sum;
}

// The same for several rows in turns: what waits for one product can be overtaken by the other rows'.
template <int kMaxCode, int kVectors, int kRows>
RZ_INLINE void dot_vectors_of_rows(const uint8_t (*codes)[64], const ActGroup* const* rows, uint32_t g, int col,
                                   I* dots) {
  constexpr int n_run = run_length<kMaxCode>() < kVectors ? run_length<kMaxCode>() : kVectors;
#pragma GCC unroll 8
  for (int first = 0; first < kVectors; first += n_run) {
    Part parts[kRows];
    for (Part& part : parts) part = zero_part();
#pragma GCC unroll 8
    for (int j = first; j < first + n_run; ++j) {
      const B code = load_bytes(codes[j]);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) parts[r] = dot4<kMaxCode>(parts[r], code, rows[r][g].quants + col + 4 * j);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      dots[r] = first == 0 ? whole<kMaxCode>(parts[r]) : add_i(dots[r], whole<kMaxCode>(parts[r]));
    }
  }
}

template <PanelLayout L>
RZ_INLINE void load_codes(const uint8_t* quants, B* out) {
  out[0] = codes<L, 0>(quants);
  out[1] = codes<L, 1>(quants);
  out[2] = codes<L, 2>(quants);
  out[3] = codes<L, 3>(quants);
  out[4] = codes<L, 4>(quants);
  out[5] = codes<L, 5>(quants);
  out[6] = codes<L, 6>(quants);
  out[7] = codes<L, 7>(quants);
}

// The scale of 16 rows for sub-block `block` of a group, and what their codes' sum is multiplied by; for the layouts
// with super-blocks both still lack the factors of the header.
struct ScaleMin {
  F scale, min;  // min only where the layout has one
};

template <PanelLayout L>
RZ_INLINE ScaleMin load_scales(const uint8_t* group, int block) {
  ScaleMin r{zero(), zero()};
  if constexpr (L.scales == Scales::kSuper) {
    r.scale = L.has_min ? load_u8(group + 16 * block) : load_i8(group + 16 * block);
    if constexpr (L.has_min) r.min = load_u8(group + 16 * (L.n_subs() + block));
  } else if constexpr (L.scales == Scales::kBf16) {
    r.scale = load_bf16(group);
  } else {
    r.scale = load_f16(group);
    if constexpr (L.has_min) r.min = load_f16(group + 32);
  }
  return r;
}

// What a row has summed over the columns of a tile: scaled products, and (where the layout has them) scaled minima.
struct RowSum {
  F products, minima;
};

// The exact products of a row with the codes of 16 rows over a sub-block, taken into its sums.
template <PanelLayout L>
RZ_INLINE RowSum add_block(RowSum sums, I dots, ScaleMin w, const ActGroup& act, int sub) {
  constexpr int offset = L.offset - code_bias<L.max_code>();
  const float sum = L.sub == 16 ? act.halves[sub] : act.sum;
  F products = to_float(dots);
  if constexpr (offset != 0) products = fma(set1(-offset), set1(sum), products);
  sums.products = fma(products, mul(w.scale, set1(act.scale)), sums.products);
  if constexpr (L.has_min) {
    const F weighted = L.sub == 16 ? mul(set1(act.scale), set1(sum)) : set1(act.scaled_sum);
    sums.minima = fma(w.min, weighted, sums.minima);
  }
  return sums;
}

// A tile's sums taken into the row's result; d and dmin are the header's.
template <PanelLayout L>
RZ_INLINE F add_tile(F acc, RowSum sums, F d, F dmin) {
  if constexpr (L.scales == Scales::kSuper) {
    acc = fma(d, sums.products, acc);
    if constexpr (L.has_min) acc = sub(acc, mul(dmin, sums.minima));
    return acc;
  }
  if constexpr (L.has_min) return add(acc, add(sums.products, sums.minima));
  return add(acc, sums.products);
}

template <PanelLayout L, int kRows>
RZ_INLINE void dot_group(const uint8_t* group, uint32_t g, const ActRow* rows, RowSum* sums) {
  B code[8];
  load_codes<L>(group + L.scale_bytes(), code);
  constexpr int n_vectors = 8 / L.n_subs();
  for (int s = 0; s < L.n_subs(); ++s) {
    const ScaleMin w = load_scales<L>(group, s);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const ActGroup& act = rows[r].groups[g];
      const I dots = dot_vectors<L.max_code, n_vectors>(code + n_vectors * s, act.quants + 16 * s);
      sums[r] = add_block<L>(sums[r], dots, w, act, s);
    }
  }
}

template <PanelLayout L, int kRows>
void dot_rows(const uint8_t* panel, uint32_t n_cols, const ActRow* rows, float* y) {
  constexpr bool super = L.scales == Scales::kSuper;
  F acc[kRows];
  for (F& a : acc) a = zero();
  const uint8_t* at = panel;
  for (uint32_t col = 0; col < n_cols; col += kTileCols) {
    const uint32_t n_groups = super || n_cols - col >= kTileCols ? 8 : (n_cols - col) / 32;
    const uint8_t* group = at + L.header_bytes();
    RowSum sums[kRows];
    for (RowSum& sum : sums) sum = {zero(), zero()};
    for (uint32_t i = 0; i < n_groups; ++i, group += L.group_bytes()) {
      prefetch(group, L.group_bytes());
      dot_group<L, kRows>(group, col / 32 + i, rows, sums);
    }
    const F d = super ? load_f16(at) : zero(), dmin = super && L.has_min ? load_f16(at + 32) : zero();
    for (int r = 0; r < kRows; ++r) acc[r] = add_tile<L>(acc[r], sums[r], d, dmin);
    at = group;
  }
  for (int r = 0; r < kRows; ++r) store(y + 16 * r, acc[r]);
}

template <PanelLayout L>
void dot(const uint8_t* panel, uint32_t n_cols, const ActRow* rows, uint32_t n_rows, float* y) {
  switch (n_rows) {
    case 1:
      return dot_rows<L, 1>(panel, n_cols, rows, y);
    case 2:
      return dot_rows<L, 2>(panel, n_cols, rows, y);
    case 3:
      return dot_rows<L, 3>(panel, n_cols, rows, y);
    default:
      return dot_rows<L, 4>(panel, n_cols, rows, y);
  }
}

// ---- the same sums for many rows: the panel is spread once, then read by all of them

struct CodeGroup {
  uint8_t codes[8][64];
  float scale[2][16], min[2][16];  // of each sub-block, as load_scales() gives them
};
struct CodeTile {
  float d[16], dmin[16];  // where there are super-blocks
  CodeGroup groups[kTileCols / 32];
};

template <PanelLayout L>
void spread(const uint8_t* panel, uint32_t col, uint32_t n, void* to) {
  auto& tile = *static_cast<CodeTile*>(to);
  if constexpr (L.scales == Scales::kSuper) {
    store(tile.d, load_f16(panel + L.header_at(col / 32)));
    if constexpr (L.has_min) store(tile.dmin, load_f16(panel + L.header_at(col / 32) + 32));
  }
  for (uint32_t g = 0; g < n / 32; ++g) {
    const uint8_t* group = panel + L.group_at(col / 32 + g);
    prefetch(group, L.group_bytes());
    B code[8];
    load_codes<L>(group + L.scale_bytes(), code);
    for (int j = 0; j < 8; ++j) store_bytes(tile.groups[g].codes[j], code[j]);
    for (int s = 0; s < L.n_subs(); ++s) {
      const ScaleMin w = load_scales<L>(group, s);
      store(tile.groups[g].scale[s], w.scale);
      if constexpr (L.has_min) store(tile.groups[g].min[s], w.min);
    }
  }
}

template <PanelLayout L, int kRows>
void gemm_int8_rows(const CodeTile& tile, uint32_t n, const ActGroup* const* rows, float* acc, bool first) {
  constexpr int n_vectors = 8 / L.n_subs();
  RowSum sums[kRows];
  for (RowSum& sum : sums) sum = {zero(), zero()};
  for (uint32_t g = 0; g < n / 32; ++g) {
    const CodeGroup& group = tile.groups[g];
    for (int s = 0; s < L.n_subs(); ++s) {
      I dots[kRows];
      dot_vectors_of_rows<L.max_code, n_vectors, kRows>(group.codes + n_vectors * s, rows, g, 16 * s, dots);
      const ScaleMin w{load(group.scale[s]), L.has_min ? load(group.min[s]) : zero()};
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sums[r] = add_block<L>(sums[r], dots[r], w, rows[r][g], s);
    }
  }
  constexpr bool super = L.scales == Scales::kSuper;
  const F d = super ? load(tile.d) : zero(), dmin = super && L.has_min ? load(tile.dmin) : zero();
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    store(acc + 32 * r, add_tile<L>(first ? zero() : load(acc + 32 * r), sums[r], d, dmin));
  }
}

template <PanelLayout L>
void gemm_int8(const void* tile, uint32_t n, const ActGroup* const* rows, uint32_t n_rows, float* acc, bool first) {
  const auto& codes = *static_cast<const CodeTile*>(tile);
  uint32_t r = 0;
  for (; r + kInt8Rows <= n_rows; r += kInt8Rows) gemm_int8_rows<L, kInt8Rows>(codes, n, rows + r, acc + 32 * r, first);
  for (; r < n_rows; ++r) gemm_int8_rows<L, 1>(codes, n, rows + r, acc + 32 * r, first);
}

// The scale and the minimum in full, as they are to be added to.
template <PanelLayout L>
RZ_INLINE ScaleMin whole_scales(const uint8_t* header, const uint8_t* group, int block) {
  ScaleMin r = load_scales<L>(group, block);
  if constexpr (L.scales == Scales::kSuper) {
    r.scale = mul(load_f16(header), r.scale);
    if constexpr (L.has_min) r.min = sub(zero(), mul(load_f16(header + 32), r.min));
  }
  return r;
}

template <PanelLayout L, int kByte>
RZ_INLINE F value(B code, ScaleMin w) {
  const F q = sub(to_float(lane_byte<kByte>(code)), set1(L.offset));
  if constexpr (L.has_min) return add(mul(q, w.scale), w.min);
  return mul(q, w.scale);
}

template <PanelLayout L, bool kBf16>
void unpack(const uint8_t* panel, uint32_t col, uint32_t n, void* tile) {
  for (uint32_t g = col / 32; g < (col + n) / 32; ++g) {
    const uint8_t *header = panel + L.header_at(g), *group = panel + L.group_at(g);
    B code[8];
    load_codes<L>(group + L.scale_bytes(), code);
    ScaleMin w{};
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (j % (L.sub / 4) == 0) w = whole_scales<L>(header, group, j / (L.sub / 4));
      const F v[4] = {value<L, 0>(code[j], w), value<L, 1>(code[j], w), value<L, 2>(code[j], w),
                      value<L, 3>(code[j], w)};
      const size_t at = (size_t{32} * g - col + 4 * j) * 16;
      if constexpr (kBf16) {
#if defined(RZ_BF16)
        store_bf16_pairs(static_cast<uint16_t*>(tile) + at, v[0], v[1]);
        store_bf16_pairs(static_cast<uint16_t*>(tile) + at + 32, v[2], v[3]);
#endif
      } else {
        for (int c = 0; c < 4; ++c) store(static_cast<float*>(tile) + at + 16 * c, v[c]);
      }
    }
  }
}

// ---- products with panels of plain types: [n_cols][16]

enum class Plain { kF32, kF16, kBF16 };

// Bytes of one column of a panel.
constexpr uint32_t plain_bytes(Plain type) {
  return type == Plain::kF32 ? 64 : 32;
}

template <Plain kType>
RZ_INLINE F load_plain(const uint8_t* panel, uint32_t col) {
  if constexpr (kType == Plain::kF32) return load(reinterpret_cast<const float*>(panel) + size_t{16} * col);
  if constexpr (kType == Plain::kF16) return load_f16(panel + size_t{32} * col);
  return load_bf16(panel + size_t{32} * col);
}

template <Plain kType, int kRows>
void dot_plain_rows(const uint8_t* panel, uint32_t n_cols, const ActRow* rows, float* y) {
  F acc[kRows][4];
  for (auto& row : acc) {
    for (F& a : row) a = zero();
  }
  uint32_t c = 0;
  for (; c + 4 <= n_cols; c += 4) {
    prefetch(panel + c * plain_bytes(kType), 4 * plain_bytes(kType));
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const F w = load_plain<kType>(panel, c + k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) acc[r][k] = fma(w, set1(rows[r].values[c + k]), acc[r][k]);
    }
  }
  for (; c < n_cols; ++c) {
    const F w = load_plain<kType>(panel, c);
    for (int r = 0; r < kRows; ++r) acc[r][0] = fma(w, set1(rows[r].values[c]), acc[r][0]);
  }
  for (int r = 0; r < kRows; ++r) store(y + 16 * r, add(add(acc[r][0], acc[r][1]), add(acc[r][2], acc[r][3])));
}

template <Plain kType>
void dot_plain(const uint8_t* panel, uint32_t n_cols, const ActRow* rows, uint32_t n_rows, float* y) {
  switch (n_rows) {
    case 1:
      return dot_plain_rows<kType, 1>(panel, n_cols, rows, y);
    case 2:
      return dot_plain_rows<kType, 2>(panel, n_cols, rows, y);
    case 3:
      return dot_plain_rows<kType, 3>(panel, n_cols, rows, y);
    default:
      return dot_plain_rows<kType, 4>(panel, n_cols, rows, y);
  }
}

template <Plain kType>
void unpack_plain(const uint8_t* panel, uint32_t col, uint32_t n, void* tile) {
  for (uint32_t c = 0; c < n; ++c) {
    if (c % 2 == 0) prefetch(panel + (col + c) * plain_bytes(kType), 2 * plain_bytes(kType));
    store(static_cast<float*>(tile) + size_t{16} * c, load_plain<kType>(panel, col + c));
  }
}

// ---- prefill: two tiles of 16 rows times kRows rows of activations, everything in registers

template <int kRows>
void gemm_f32_rows(const void* tile0, const void* tile1, uint32_t n, const void* const* rows, float* acc, bool first) {
  const auto *w0 = static_cast<const float*>(tile0), *w1 = static_cast<const float*>(tile1);
  F a[kRows][2];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    a[r][0] = first ? zero() : load(acc + 32 * r);
    a[r][1] = first ? zero() : load(acc + 32 * r + 16);
  }
  const float* x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = static_cast<const float*>(rows[r]);
  for (uint32_t c = 0; c < n; ++c) {
    const F v0 = load(w0 + size_t{16} * c), v1 = load(w1 + size_t{16} * c);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const F y = set1(x[r][c]);
      a[r][0] = fma(v0, y, a[r][0]);
      a[r][1] = fma(v1, y, a[r][1]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    store(acc + 32 * r, a[r][0]);
    store(acc + 32 * r + 16, a[r][1]);
  }
}

template <int kRows>
void gemm_f32(const void* tile0, const void* tile1, uint32_t n, const void* const* rows, uint32_t n_rows, float* acc,
              bool first) {
  if constexpr (kRows > 1) {
    if (n_rows < kRows) return gemm_f32<kRows - 1>(tile0, tile1, n, rows, n_rows, acc, first);
  }
  gemm_f32_rows<kRows>(tile0, tile1, n, rows, acc, first);
}

#if defined(RZ_BF16)
void to_bf16(const float* x, uint32_t n, uint16_t* y) {
  for (uint32_t i = 0; i + 16 <= n; i += 16) store_bf16(y + i, load(x + i));
}

void split_bf16(const float* x, uint32_t n, uint16_t* high, uint16_t* low) {
  for (uint32_t i = 0; i + 16 <= n; i += 16) {
    const F value = load(x + i);
    const F rounded = round_bf16(value);
    store_bf16(high + i, rounded);
    store_bf16(low + i, sub(value, rounded));
  }
}

void split_tile(const float* tile, uint32_t n, uint16_t* high, uint16_t* low) {
  for (uint32_t c = 0; c + 2 <= n; c += 2) {
    const F even = load(tile + size_t{16} * c), odd = load(tile + size_t{16} * c + 16);
    const F rounded_even = round_bf16(even), rounded_odd = round_bf16(odd);
    store_bf16_pairs(high + size_t{16} * c, rounded_even, rounded_odd);
    store_bf16_pairs(low + size_t{16} * c, sub(even, rounded_even), sub(odd, rounded_odd));
  }
}
#endif

// ---- activations

void quantize(const float* x, uint32_t n, ActGroup* groups) {
  for (uint32_t g = 0; g < n / 32; ++g) {
    const F a = load(x + 32 * g), b = load(x + 32 * g + 16);
    const float largest = reduce_max(max(abs(a), abs(b)));
    const F inverse = set1(largest > 0x1p-120f ? 127.0f / largest : 0.0f);
    const I low = to_int(mul(a, inverse)), high = to_int(mul(b, inverse));
    ActGroup& group = groups[g];
    store_i8(group.quants, low);
    store_i8(group.quants + 16, high);
    group.scale = largest / 127.0f;
    group.halves[0] = reduce(to_float(low));
    group.halves[1] = reduce(to_float(high));
    group.sum = group.halves[0] + group.halves[1];
    group.scaled_sum = group.scale * group.sum;
  }
}

// ---- vectors

float dot_f32(const float* a, const float* b, uint32_t n) {
  F acc = zero();
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) acc = fma(load(a + i), load(b + i), acc);
  if (i < n) acc = fma(load_tail(a + i, n - i), load_tail(b + i, n - i), acc);
  return reduce(acc);
}

float sum(const float* a, uint32_t n) {
  F acc = zero();
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) acc = add(acc, load(a + i));
  if (i < n) acc = add(acc, load_tail(a + i, n - i));
  return reduce(acc);
}

inline void store_tail(float* p, F a, uint32_t n) {
  float lanes[16];
  store(lanes, a);
  for (uint32_t i = 0; i < n; ++i) p[i] = lanes[i];
}

void axpy(float alpha, const float* x, float* y, uint32_t n) {
  const F a = set1(alpha);
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, fma(a, load(x + i), load(y + i)));
  if (i < n) store_tail(y + i, fma(a, load_tail(x + i, n - i), load_tail(y + i, n - i)), n - i);
}

void scale(float alpha, float* x, uint32_t n) {
  const F a = set1(alpha);
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(x + i, mul(a, load(x + i)));
  if (i < n) store_tail(x + i, mul(a, load_tail(x + i, n - i)), n - i);
}

// e^x = 2^n e^r, |r| <= ln(2) / 2, by the Taylor polynomial of degree 7: relative error below 3e-7 on [-87, 88],
// where x is clamped.
RZ_INLINE F exp_of(F x) {
  x = min(max(x, set1(-87.0f)), set1(88.0f));
  const F n = round(mul(x, set1(1.44269504f)));
  F r = fma(n, set1(-0.693145752f), x);
  r = fma(n, set1(-1.42860677e-6f), r);
  F p = set1(1.0f / 5040);
  p = fma(p, r, set1(1.0f / 720));
  p = fma(p, r, set1(1.0f / 120));
  p = fma(p, r, set1(1.0f / 24));
  p = fma(p, r, set1(1.0f / 6));
  p = fma(p, r, set1(0.5f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  return times_pow2(p, n);
}

// tanh |x| = 1 - 2 / (e^(2|x|) + 1): absolute error below 3e-7.
RZ_INLINE F tanh_of(F x) {
  const F e = exp_of(mul(abs(x), set1(2.0f)));
  return copy_sign(sub(set1(1.0f), div(set1(2.0f), add(e, set1(1.0f)))), x);
}

// Abramowitz and Stegun, formula 7.1.26: absolute error below 1e-6 in F32.
RZ_INLINE F erf_of(F x) {
  const F a = abs(x);
  const F t = div(set1(1.0f), fma(a, set1(0.3275911f), set1(1.0f)));
  F p = set1(1.061405429f);
  p = fma(p, t, set1(-1.453152027f));
  p = fma(p, t, set1(1.421413741f));
  p = fma(p, t, set1(-0.284496736f));
  p = fma(p, t, set1(0.254829592f));
  const F e = exp_of(sub(zero(), mul(a, a)));
  return copy_sign(sub(set1(1.0f), mul(mul(p, t), e)), x);
}

RZ_INLINE F mapped(MapKind kind, F x) {
  switch (kind) {
    case MapKind::kNone:
      return x;
    case MapKind::kSilu:
      return div(x, add(set1(1.0f), exp_of(sub(zero(), x))));
    case MapKind::kGelu: {
      const F inner = mul(set1(0.797884561f), fma(mul(set1(0.044715f), mul(x, x)), x, x));
      return mul(mul(set1(0.5f), x), add(set1(1.0f), tanh_of(inner)));
    }
    case MapKind::kGeluErf:
      return mul(mul(set1(0.5f), x), add(set1(1.0f), erf_of(mul(x, set1(0.707106781f)))));
    case MapKind::kRelu:
      return max(x, zero());
    case MapKind::kReluSquared:
      return mul(max(x, zero()), max(x, zero()));
    case MapKind::kTanh:
      return tanh_of(x);
    case MapKind::kExp:
      return exp_of(x);
  }
  return x;
}

void map(MapKind kind, float* x, uint32_t n) {
  if (kind == MapKind::kNone) return;
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(x + i, mapped(kind, load(x + i)));
  if (i < n) store_tail(x + i, mapped(kind, load_tail(x + i, n - i)), n - i);
}

// ---- attention

// +infinity in lanes [from, to) of 32, counted from `lane`, and -infinity in the others.
RZ_INLINE F between(uint32_t from, uint32_t to, uint32_t lane) {
  alignas(64) static constexpr float kEdges[96] = {
#define RZ_FOUR(x) x, x, x, x
#define RZ_SIXTEEN(x) RZ_FOUR(x), RZ_FOUR(x), RZ_FOUR(x), RZ_FOUR(x)
      RZ_SIXTEEN(__builtin_inff()),  RZ_SIXTEEN(__builtin_inff()), RZ_SIXTEEN(-__builtin_inff()),
      RZ_SIXTEEN(-__builtin_inff()), RZ_SIXTEEN(__builtin_inff()), RZ_SIXTEEN(__builtin_inff()),
#undef RZ_SIXTEEN
#undef RZ_FOUR
  };
  return min(load(kEdges + 32 - to + lane), load(kEdges + 64 - from + lane));
}

float softmax_piece(float* scores, uint32_t from, uint32_t to, float scale, float softcap, Softmax* state) {
  if (from >= to) {
    store(scores, zero());
    store(scores + 16, zero());
    return 1.0f;
  }
  const bool is_whole = from == 0 && to == kKvPiece;
  F s[2];
  for (uint32_t i = 0; i < 2; ++i) {
    s[i] = mul(load(scores + 16 * i), set1(scale));
    if (softcap > 0) s[i] = mul(tanh_of(mul(s[i], set1(1.0f / softcap))), set1(softcap));
    if (!is_whole) s[i] = min(s[i], between(from, to, 16 * i));
  }
  const float largest = reduce_max(max(s[0], s[1]));
  const float new_max = largest > state->max ? largest : state->max;
  for (uint32_t i = 0; i < 2; ++i) {
    s[i] = exp_of(sub(s[i], set1(new_max)));
    if (!is_whole) s[i] = min(s[i], max(between(from, to, 16 * i), zero()));
    store(scores + 16 * i, s[i]);
  }
  const float correction = new_max == state->max ? 1.0f : reduce_max(exp_of(set1(state->max - new_max)));
  *state = {new_max, state->sum * correction + reduce(add(s[0], s[1]))};
  return correction;
}

// How the cache stores a vector, in the order of KvType.
enum class Stored { kF32, kF16, kBF16, kQ8_0 };

// Columns [col, col + n) of a vector, n <= 16, zeros behind them. Q8_0: an F16 scale and 32 int8 quants a block, whole
// blocks only.
template <Stored kType>
RZ_INLINE F value_columns(const uint8_t* x, uint32_t col, uint32_t n) {
  if constexpr (kType == Stored::kQ8_0) {
    const uint8_t* block = x + col / 32 * 34;
    return mul(load_i8(block + 2 + col % 32), set1_f16(block));
  }
  constexpr uint32_t n_bytes = kType == Stored::kF32 ? 4 : 2;
  alignas(64) uint8_t tail[64] = {};
  const uint8_t* from = x + col * n_bytes;
  if (n < 16) {
    for (uint32_t i = 0; i < n * n_bytes; ++i) tail[i] = from[i];
    from = tail;
  }
  if constexpr (kType == Stored::kF32) return load(reinterpret_cast<const float*>(from));
  if constexpr (kType == Stored::kF16) return load_f16(from);
  return load_bf16(from);
}

template <Stored kType>
void load_values(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, float* tiles) {
  for (uint32_t i = 0; i < n; ++i) {
    prefetch(x + i * n_bytes, static_cast<uint32_t>(n_bytes));
    for (uint32_t c = 0; c < n_cols; c += 16) {
      const uint32_t n_left = n_cols - c < 16 ? n_cols - c : 16;
      store(tiles + size_t{kKvPiece} * c + 16 * i, value_columns<kType>(x + i * n_bytes, c, n_left));
    }
  }
  for (uint32_t c = 0; c < n_cols; c += 16) {
    for (uint32_t i = n; i < 16; ++i) store(tiles + size_t{kKvPiece} * c + 16 * i, zero());
  }
}

// Columns [col, col + 16 * kVectors) of `sums`, for kRows rows; n_last of the last vector are real.
template <Stored kType, int kRows, int kVectors>
RZ_INLINE void add_columns(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t col, uint32_t n_last,
                           const float* const* weights, float* sums, size_t stride) {
  const auto at = [&](int r, int v) {
    const uint32_t c = col + 16 * static_cast<uint32_t>(v);
    return sums + c / 32 * stride + 32 * r + c % 32;
  };
  F a[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) a[r][v] = load(at(r, v));
  }
  for (uint32_t i = 0; i < n; ++i) {
    F values[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      values[v] = value_columns<kType>(x + i * n_bytes, col + 16 * v, v + 1 == kVectors ? n_last : 16);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F weight = set1(weights[r][i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) a[r][v] = fma(values[v], weight, a[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(at(r, v), a[r][v]);
  }
}

template <Stored kType, int kRows>
void add_values_of_rows(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, const float* const* weights,
                        float* sums, size_t stride) {
  constexpr uint32_t kAtOnce = 16 * kValueVectors;
  for (uint32_t i = 0; i < n; ++i) prefetch(x + i * n_bytes, static_cast<uint32_t>(n_bytes));
  uint32_t c = 0;
  for (; c + kAtOnce <= n_cols; c += kAtOnce) {
    add_columns<kType, kRows, kValueVectors>(x, n_bytes, n, c, 16, weights, sums, stride);
  }
  for (; c < n_cols; c += 16) {
    const uint32_t n_left = n_cols - c < 16 ? n_cols - c : 16;
    add_columns<kType, kRows, 1>(x, n_bytes, n, c, n_left, weights, sums, stride);
  }
}

template <Stored kType>
void add_values(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, const float* const* weights,
                uint32_t n_rows, float* sums, size_t stride) {
  switch (n_rows) {
    case 1:
      return add_values_of_rows<kType, 1>(x, n_bytes, n, n_cols, weights, sums, stride);
    case 2:
      return add_values_of_rows<kType, 2>(x, n_bytes, n, n_cols, weights, sums, stride);
    case 3:
      return add_values_of_rows<kType, 3>(x, n_bytes, n, n_cols, weights, sums, stride);
    default:
      return add_values_of_rows<kType, 4>(x, n_bytes, n, n_cols, weights, sums, stride);
  }
}

// ---- loops that do nothing but keep one unit busy, to measure its peak

constexpr uint32_t kPeakChains = kGemmRows == 12 ? 16 : 4;  // independent sums, enough to hide the latency

float peak_read(const uint8_t* bytes, size_t n_bytes) {
  F a[4] = {zero(), zero(), zero(), zero()};
  for (size_t i = 0; i + 256 <= n_bytes; i += 256) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) a[k] = max(a[k], load(reinterpret_cast<const float*>(bytes + i + 64 * k)));
  }
  return reduce(max(max(a[0], a[1]), max(a[2], a[3])));
}

float peak_fma(uint32_t n_steps) {
  F a[kPeakChains];
  for (F& chain : a) chain = set1(1.0f);
  for (uint32_t i = 0; i < n_steps; ++i) {
    const F x = set1(static_cast<float>(i & 1) * 0.5f);
#pragma GCC unroll 16
    for (F& chain : a) chain = fma(chain, x, x);
  }
  for (const F& chain : a) a[0] = add(a[0], chain);
  return reduce(a[0]);
}

float peak_int8(uint32_t n_steps) {
  Part a[kPeakChains];
  for (Part& chain : a) chain = zero_part();
  uint8_t bytes[64] = {1, 2, 3, 4};
  const B codes_in = load_bytes(bytes);
  for (uint32_t i = 0; i < n_steps; ++i) {
    const int8_t q[4] = {static_cast<int8_t>(i & 1), 0, 1, 2};
#pragma GCC unroll 16
    for (Part& chain : a) chain = dot4<15>(chain, codes_in, q);
  }
  F sum_of = zero();
  for (const Part& chain : a) sum_of = add(sum_of, to_float(whole<15>(chain)));
  return reduce(sum_of);
}

// ---- the table's rows, in the order of PanelKind

#define RZ_FOR_LAYOUTS(function)                                                                                     \
  function(kQ4_0Layout), function(kQ4_1Layout), function(kQ5_0Layout), function(kQ5_1Layout), function(kQ8_0Layout), \
      function(kIQ4_NLLayout), function(kMXFP4Layout), function(kQ2_KLayout), function(kQ3_KLayout),                 \
      function(kQ4_KLayout), function(kQ5_KLayout), function(kQ6_KLayout), function(kIQ4_XSLayout)
#define RZ_DOT(layout) dot<layout>
#define RZ_SPREAD(layout) spread<layout>
#define RZ_GEMM_INT8(layout) gemm_int8<layout>
#define RZ_UNPACK_F32(layout) unpack<layout, false>
#define RZ_UNPACK_BF16(layout) unpack<layout, true>

constexpr KernelTable make_table(const char* name) {
  return {
      .name = name,
      .bf16 = false,
      .gemm_f32_rows = kGemmRows,
      .gemm_bf16_rows = 0,
      .dot = {dot_plain<Plain::kF32>, dot_plain<Plain::kF16>, dot_plain<Plain::kBF16>, RZ_FOR_LAYOUTS(RZ_DOT)},
      .unpack_f32 = {unpack_plain<Plain::kF32>, unpack_plain<Plain::kF16>, unpack_plain<Plain::kBF16>,
                     RZ_FOR_LAYOUTS(RZ_UNPACK_F32)},
      .unpack_bf16 = {},
      .spread = {nullptr, nullptr, nullptr, RZ_FOR_LAYOUTS(RZ_SPREAD)},
      .gemm_int8 = {nullptr, nullptr, nullptr, RZ_FOR_LAYOUTS(RZ_GEMM_INT8)},
      .gemm_f32 = gemm_f32<kGemmRows>,
      .gemm_bf16 = nullptr,
      .quantize = quantize,
      .to_bf16 = nullptr,
      .split_bf16 = nullptr,
      .split_tile = nullptr,
      .softmax_piece = softmax_piece,
      .load_values = {load_values<Stored::kF32>, load_values<Stored::kF16>, load_values<Stored::kBF16>,
                      load_values<Stored::kQ8_0>},
      .add_values = {add_values<Stored::kF32>, add_values<Stored::kF16>, add_values<Stored::kBF16>,
                     add_values<Stored::kQ8_0>},
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
