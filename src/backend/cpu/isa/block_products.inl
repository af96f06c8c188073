// Products with panels of group types: directly from the packed panel for few rows; from tiles, into which the panel is
// unpacked once, for many, with exactly the same sums. Also unpacks panels to F32 or bf16 tiles.

template <int kBits, int kVector>
RZ_INLINE B plane_bits(const uint8_t* plane) {
  if constexpr (kBits == 8) return load_bytes(plane + 64 * kVector);
  constexpr int n_vectors = kBits;  // 8 vectors of kBits / 8 bytes per element
  constexpr int shift = kVector / n_vectors * kBits;
  const B packed = load_bytes(plane + 64 * (kVector % n_vectors));
  return mask(shift_right<shift>(packed), (1 << kBits) - 1);
}

template <PanelLayout L, int kVector>
RZ_INLINE B codes(const uint8_t* quants) {
  B low = plane_bits<L.low, kVector>(quants);
  if constexpr (L.high > 0) {
    constexpr int shift = kVector / L.high * L.high;  // position of this vector's bits in the byte
    const B packed = load_bytes(quants + 64 * L.low + 64 * (kVector % L.high));
    constexpr uint8_t bits = ((1 << L.high) - 1) << L.low;
    if constexpr (shift > L.low) {
      low = either(low, mask(shift_right<shift - L.low>(packed), bits));
    } else {
      low = either(low, mask(shift_left<L.low - shift>(packed), bits));
    }
  }
  if constexpr (L.codes != Codes::kPlain) low = look_up(low, kRaisedLevels<L.codes, L.offset>.code);
  return low;
}

// Parts that begin with kPartSeed cannot be added to each other.
template <int kMaxCode, int kVectors>
constexpr bool is_one_run() {
  return kPartSeed == 0 || run_length<kMaxCode>() >= kVectors;
}

// The exact products of kVectors vectors of codes (less code_bias) with a row's quants.
template <int kMaxCode, int kVectors>
RZ_INLINE I dot_vectors(const B* code, const int8_t* q) {
  constexpr int n_run = run_length<kMaxCode>() < kVectors ? run_length<kMaxCode>() : kVectors;
  static_assert(is_one_run<kMaxCode, kVectors>());
  I sum = set1_i(0);
#pragma GCC unroll 8
  for (int first = 0; first < kVectors; first += n_run) {
    Part part = begin_part();
#pragma GCC unroll 8
    for (int j = first; j < first + n_run; ++j) part = dot4<kMaxCode>(part, code[j], q + 4 * j);
    sum = first == 0 ? whole<kMaxCode>(part) : add_i(sum, whole<kMaxCode>(part));
  }
  return sum;
}

// dot_vectors for several rows and panels, interleaved to overlap latencies; panels share the loads of a row.
template <int kMaxCode, int kVectors, int kRows, int kPanels>
RZ_INLINE void dot_vectors_of_rows(const uint8_t (*const* codes)[64], const ActGroup* const* rows, uint32_t g, int col,
                                   I (*dots)[kPanels]) {
  constexpr int n_run = run_length<kMaxCode>() < kVectors ? run_length<kMaxCode>() : kVectors;
  static_assert(is_one_run<kMaxCode, kVectors>());
#pragma GCC unroll 8
  for (int first = 0; first < kVectors; first += n_run) {
    Part parts[kRows][kPanels];
    for (auto& of_row : parts) {
      for (Part& part : of_row) part = begin_part();
    }
#pragma GCC unroll 8
    for (int j = first; j < first + n_run; ++j) {
      B code[kPanels];
      for (int p = 0; p < kPanels; ++p) code[p] = load_bytes(codes[p][j]);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const int8_t* four = rows[r][g].quants + col + 4 * j;
        for (int p = 0; p < kPanels; ++p) parts[r][p] = dot4<kMaxCode>(parts[r][p], code[p], four);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      for (int p = 0; p < kPanels; ++p) {
        const I run = whole<kMaxCode>(parts[r][p]);
        dots[r][p] = first == 0 ? run : add_i(dots[r][p], run);
      }
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

// Scale of 16 rows for sub-block `block` of a group, and the factor on their codes' sum. For layouts with super-blocks
// both are without the header's factors, and `scale` without the divisor.
struct ScaleMin {
  F scale, min;  // min only where the layout has one
};

template <PanelLayout L>
RZ_INLINE ScaleMin load_scales(const uint8_t* group, int block) {
  ScaleMin r{zero(), zero()};
  if constexpr (L.scales == Scales::kSuper) {
    r.scale = L.has_min ? load_u8(group + 16 * block) : load_i8(group + 16 * block);
    if constexpr (L.has_min) r.min = load_u8(group + 16 * (L.n_subs() + block));
  } else if constexpr (L.scales == Scales::kE4M3) {
    r.scale = load_f8(group + 16 * block);
  } else if constexpr (L.scales == Scales::kBf16) {
    r.scale = load_bf16(group);
  } else {
    r.scale = load_f16(group);
    if constexpr (L.has_min) r.min = load_f16(group + 32);
  }
  return r;
}

// A row's sums over the columns of a tile: scaled products, and scaled minima if the layout has them.
struct RowSum {
  F products, minima;
};

// Subtracts the offset of codes from their products. Everything is an integer below 2^22, so exact.
template <int kOffset>
RZ_INLINE F without_offset(I dots, float sum) {
  if constexpr (kPartSeed != 0) {
    return sub(as_float(dots), kOffset == 0 ? set1(kPartSeed) : fma(set1(kOffset), set1(sum), set1(kPartSeed)));
  }
  if constexpr (kOffset == 0) return to_float(dots);
  return fma(set1(-kOffset), set1(sum), to_float(dots));
}

// Adds the exact products of a row with the codes of 16 rows over a sub-block to the row's sums.
template <PanelLayout L>
RZ_INLINE RowSum add_block(RowSum sums, I dots, ScaleMin w, const ActGroup& act, int sub) {
  const float sum = L.sub == 16 ? act.halves[sub] : act.sum;
  const F products = without_offset<L.offset - code_bias<L.max_code>()>(dots, sum);
  sums.products = fma(products, mul(w.scale, set1(act.scale)), sums.products);
  if constexpr (L.has_min) {
    const F weighted = L.sub == 16 ? mul(set1(act.scale), set1(sum)) : set1(act.scaled_sum);
    sums.minima = fma(w.min, weighted, sums.minima);
  }
  return sums;
}

// The common factor of a super-block's or row's scales, with the divisor; 1 if there is none.
template <PanelLayout L>
RZ_INLINE F load_d(const uint8_t* header) {
  if constexpr (L.scales == Scales::kE4M3) return load(reinterpret_cast<const float*>(header));
  if constexpr (L.scales != Scales::kSuper) return set1(1.0f / L.divisor);
  if constexpr (L.divisor == 1) return load_f16(header);
  return mul(load_f16(header), set1(1.0f / L.divisor));
}

// Adds a tile's sums to the row's result; d and dmin are the header's.
template <PanelLayout L>
RZ_INLINE F add_tile(F acc, RowSum sums, F d, F dmin) {
  if constexpr (L.scales == Scales::kSuper) {
    acc = fma(d, sums.products, acc);
    if constexpr (L.has_min) acc = sub(acc, mul(dmin, sums.minima));
    return acc;
  }
  if constexpr (L.has_min) return add(acc, add(sums.products, sums.minima));
  if constexpr (L.scales == Scales::kE4M3 || L.divisor != 1) return fma(d, sums.products, acc);
  return add(acc, sums.products);
}

template <PanelLayout L, int kRows>
RZ_INLINE void dot_group(const uint8_t* group, uint32_t g, const ActGroup* const* rows, RowSum* sums) {
  B code[8];
  load_codes<L>(group + L.scale_bytes(), code);
  constexpr int n_vectors = 8 / L.n_subs();
  for (int s = 0; s < L.n_subs(); ++s) {
    const ScaleMin w = load_scales<L>(group, s);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const ActGroup& act = rows[r][g];
      const I dots = dot_vectors<L.max_code, n_vectors>(code + n_vectors * s, act.quants + 16 * s);
      sums[r] = add_block<L>(sums[r], dots, w, act, s);
    }
  }
}

template <PanelLayout L, int kRows>
void dot_rows(const uint8_t* panel, uint32_t n_cols, const ActGroup* const* rows, float* y) {
  constexpr bool super = L.scales == Scales::kSuper;
  F acc[kRows];
  for (F& a : acc) a = zero();
  const uint8_t* at = panel + L.row_factor_bytes();
  for (uint32_t col = 0; col < n_cols; col += kTileCols) {
    const uint32_t n_groups = super || n_cols - col >= kTileCols ? 8 : (n_cols - col) / 32;
    const uint8_t* group = at + L.header_bytes();
    RowSum sums[kRows];
    for (RowSum& sum : sums) sum = {zero(), zero()};
    for (uint32_t i = 0; i < n_groups; ++i, group += L.group_bytes()) {
      prefetch(group, L.group_bytes());
      dot_group<L, kRows>(group, col / 32 + i, rows, sums);
    }
    const F d = load_d<L>(L.row_factor_bytes() > 0 ? panel : at);
    const F dmin = super && L.has_min ? load_f16(at + 32) : zero();
    for (int r = 0; r < kRows; ++r) acc[r] = add_tile<L>(acc[r], sums[r], d, dmin);
    at = group;
  }
  for (int r = 0; r < kRows; ++r) store(y + 16 * r, acc[r]);
}

template <PanelLayout L, int kRows = kDotRows>
void dot(const uint8_t* panel, uint32_t n_cols, const ActGroup* const* rows, uint32_t n_rows, float* y) {
  if constexpr (kRows > 1) {
    if (n_rows < kRows) return dot<L, kRows - 1>(panel, n_cols, rows, n_rows, y);
  }
  dot_rows<L, kRows>(panel, n_cols, rows, y);
}

struct CodeGroup {
  uint8_t codes[8][64];
  float scale[2][16], min[2][16];  // per sub-block, as returned by load_scales()
};
struct CodeTile {
  float d[16], dmin[16];  // as returned by load_d(); dmin with super-blocks
  CodeGroup groups[kTileCols / 32];
};

template <PanelLayout L>
void unpack_codes(const uint8_t* panel, uint32_t col, uint32_t n, void* to) {
  auto& tile = *static_cast<CodeTile*>(to);
  store(tile.d, load_d<L>(panel + L.header_at(col / 32)));
  if constexpr (L.scales == Scales::kSuper && L.has_min) {
    store(tile.dmin, load_f16(panel + L.header_at(col / 32) + 32));
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

// The exact products of rows with the codes of a sub-block, computed on request.
struct RowDots {
  const ActGroup* const* rows;

  RowDots from(uint32_t row) const { return {rows + row}; }
  template <PanelLayout L, int kRows>
  RZ_INLINE void get(const CodeTile* const* tiles, uint32_t g, int s, I (*dots)[kInt8Panels]) const {
    constexpr int n_vectors = 8 / L.n_subs();
    const uint8_t(*codes[kInt8Panels])[64];
    for (int p = 0; p < kInt8Panels; ++p) codes[p] = tiles[p]->groups[g].codes + n_vectors * s;
    dot_vectors_of_rows<L.max_code, n_vectors, kRows, kInt8Panels>(codes, rows, g, 16 * s, dots);
  }
};

template <PanelLayout L, int kRows, class Dots>
void gemm_int8_rows(const CodeTile* const* tiles, uint32_t n, const ActGroup* const* rows, Dots dots_of, float* acc,
                    bool first) {
  constexpr int n_panels = kInt8Panels;
  RowSum sums[kRows][n_panels];
  for (auto& of_row : sums) {
    for (RowSum& sum : of_row) sum = {zero(), zero()};
  }
  for (uint32_t g = 0; g < n / 32; ++g) {
    for (int s = 0; s < L.n_subs(); ++s) {
      I dots[kRows][n_panels];
      dots_of.template get<L, kRows>(tiles, g, s, dots);
#pragma GCC unroll 2
      for (int p = 0; p < n_panels; ++p) {
        const CodeGroup& group = tiles[p]->groups[g];
        const ScaleMin w{load(group.scale[s]), L.has_min ? load(group.min[s]) : zero()};
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sums[r][p] = add_block<L>(sums[r][p], dots[r][p], w, rows[r][g], s);
      }
    }
  }
  constexpr bool super = L.scales == Scales::kSuper;
#pragma GCC unroll 2
  for (int p = 0; p < n_panels; ++p) {
    const F d = load(tiles[p]->d), dmin = super && L.has_min ? load(tiles[p]->dmin) : zero();
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float* to = acc + 32 * r + 16 * p;
      store(to, add_tile<L>(first ? zero() : load(to), sums[r][p], d, dmin));
    }
  }
}

template <PanelLayout L, int kRows = kInt8Rows, class Dots>
void gemm_int8_panels(const CodeTile* const* tiles, uint32_t n, const ActGroup* const* rows, uint32_t n_rows, Dots dots,
                      float* acc, bool first) {
  uint32_t r = 0;
  for (; r + kRows <= n_rows; r += kRows) {
    gemm_int8_rows<L, kRows>(tiles, n, rows + r, dots.from(r), acc + 32 * r, first);
  }
  if constexpr (kRows > 1) {
    if (r < n_rows) gemm_int8_panels<L, kRows / 2>(tiles, n, rows + r, n_rows - r, dots.from(r), acc + 32 * r, first);
  }
}

template <PanelLayout L>
void gemm_int8(const void* tile0, const void* tile1, uint32_t n, const ActGroup* const* rows, uint32_t n_rows,
               float* acc, bool first) {
  const CodeTile* tiles[] = {static_cast<const CodeTile*>(tile0), static_cast<const CodeTile*>(tile1)};
  for (int p = 0; p < 2; p += kInt8Panels) {
    gemm_int8_panels<L>(tiles + p, n, rows, n_rows, RowDots{rows}, acc + 16 * p, first);
  }
}

// The complete scale and minimum; the minimum is to be added.
template <PanelLayout L>
RZ_INLINE ScaleMin whole_scales(const uint8_t* header, const uint8_t* group, int block) {
  ScaleMin r = load_scales<L>(group, block);
  if constexpr (L.has_scale_bytes() || L.divisor != 1) r.scale = mul(load_d<L>(header), r.scale);
  if constexpr (L.scales == Scales::kSuper) {
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

// dot_plain_rows() for panels of keys: exactly the sums of gemm_f32 with tiles of unpack().
template <PanelLayout L, int kRows, int kPanels>
void score_group_rows(const uint8_t* const* panels, uint32_t n_cols, const float* const* rows, float* y) {
  static_assert(L.sub == 32);
  F sums[kRows][kPanels];
  clear(sums);
  for (uint32_t begin = 0; begin < n_cols; begin += kChainCols) {
    F a[kRows][kPanels];
    clear(a);
    for (uint32_t col = begin; col < n_cols && col < begin + kChainCols; col += 32) {
      B code[kPanels][8];
      ScaleMin w[kPanels];
      for (int p = 0; p < kPanels; ++p) {
        const size_t at = L.group_at(col / 32);
        prefetch(panels[p] + at, L.group_bytes());
        load_codes<L>(panels[p] + at + L.scale_bytes(), code[p]);
        w[p] = whole_scales<L>(panels[p] + L.header_at(col / 32), panels[p] + at, 0);
      }
#pragma GCC unroll 8
      for (uint32_t j = 0; j < 8; ++j) {
        F v[4][kPanels];
        for (int p = 0; p < kPanels; ++p) {
          v[0][p] = value<L, 0>(code[p][j], w[p]);
          v[1][p] = value<L, 1>(code[p][j], w[p]);
          v[2][p] = value<L, 2>(code[p][j], w[p]);
          v[3][p] = value<L, 3>(code[p][j], w[p]);
        }
#pragma GCC unroll 4
        for (uint32_t k = 0; k < 4; ++k) {
#pragma GCC unroll 12
          for (int r = 0; r < kRows; ++r) {
            const F x = set1(rows[r][col + 4 * j + k]);
            for (int p = 0; p < kPanels; ++p) a[r][p] = fma(v[k][p], x, a[r][p]);
          }
        }
      }
    }
    add_to(sums, a);
  }
  store_rows(y, kKvPiece, sums);
}

template <PanelLayout L, int kRows = kDotRows>
void score_groups(const uint8_t* panel0, const uint8_t* panel1, uint32_t n_cols, const float* const* rows,
                  uint32_t n_rows, float* y) {
  if constexpr (kRows > 1) {
    if (n_rows < kRows) return score_groups<L, kRows - 1>(panel0, panel1, n_cols, rows, n_rows, y);
  }
  const uint8_t* panels[] = {panel0, panel1};
  for (int p = 0; p < 2; p += kScorePanels) {
    score_group_rows<L, kRows, kScorePanels>(panels + p, n_cols, rows, y + 16 * p);
  }
}
