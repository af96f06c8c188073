// Products with panels of plain types, [n_cols][16] (F8: see F8Panel), and with F32 tiles of 16 rows: two of them times
// kRows rows of activations, everything in registers.

// Bytes of one column of a panel.
constexpr uint32_t plain_bytes(TypeId type) {
  return type == TypeId::kF32 ? 64 : type == TypeId::kF8_E4M3 ? 16 : 32;
}

template <TypeId kType>
RZ_INLINE F load_plain(const uint8_t* panel, uint32_t col) {
  if constexpr (kType == TypeId::kF32) return load(reinterpret_cast<const float*>(panel) + size_t{16} * col);
  if constexpr (kType == TypeId::kF16) return load_f16(panel + size_t{32} * col);
  if constexpr (kType == TypeId::kBF16) return load_bf16(panel + size_t{32} * col);
  return mul(load_f8(panel + F8Panel::codes_at(col)), load(F8Panel::scales(panel, col)));
}

// y[r * stride + 16 * p + i], with exactly the sums of gemm_f32, so that prefill and decode are bit-identical. The sums
// of the next columns can start before the previous ones are complete.
template <TypeId kType, int kRows, int kPanels>
void dot_plain_rows(const uint8_t* const* panels, uint32_t n_cols, const float* const* rows, float* y,
                    uint32_t stride) {
  F sums[kRows][kPanels];
  clear(sums);
  for (uint32_t begin = 0; begin < n_cols; begin += kChainCols) {
    F a[kRows][kPanels];
    clear(a);
    const auto add_column = [&](uint32_t c) __attribute__((always_inline)) {
      F w[kPanels];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) w[p] = load_plain<kType>(panels[p], c);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
        const F x = set1(rows[r][c]);
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) a[r][p] = fma(w[p], x, a[r][p]);
      }
    };
    const uint32_t end = begin + kChainCols < n_cols ? begin + kChainCols : n_cols;
    uint32_t c = begin;
    for (; c + 4 <= end; c += 4) {
      for (int p = 0; p < kPanels; ++p) {
        prefetch(panels[p] + size_t{c} * plain_bytes(kType), 4 * plain_bytes(kType));
      }
#pragma GCC unroll 4
      for (uint32_t k = 0; k < 4; ++k) add_column(c + k);
    }
    for (; c < end; ++c) add_column(c);
    add_to(sums, a);
  }
  store_rows(y, stride, sums);
}

template <TypeId kType, int kRows = kDotRows>
void dot_plain(const uint8_t* panel, uint32_t n_cols, const float* const* rows, uint32_t n_rows, float* y) {
  if constexpr (kRows > 1) {
    if (n_rows < kRows) return dot_plain<kType, kRows - 1>(panel, n_cols, rows, n_rows, y);
  }
  dot_plain_rows<kType, kRows, 1>(&panel, n_cols, rows, y, 16);
}

template <TypeId kType, int kRows = kDotRows>
void score_plain(const uint8_t* panel0, const uint8_t* panel1, uint32_t n_cols, const float* const* rows,
                 uint32_t n_rows, float* y) {
  if constexpr (kRows > 1) {
    if (n_rows < kRows) return score_plain<kType, kRows - 1>(panel0, panel1, n_cols, rows, n_rows, y);
  }
  const uint8_t* panels[] = {panel0, panel1};
  for (int p = 0; p < 2; p += kScorePanels) {
    dot_plain_rows<kType, kRows, kScorePanels>(panels + p, n_cols, rows, y + 16 * p, kKvPiece);
  }
}

template <TypeId kType>
void unpack_plain(const uint8_t* panel, uint32_t col, uint32_t n, void* tile) {
  for (uint32_t c = 0; c < n; ++c) {
    if (c % 2 == 0) prefetch(panel + (col + c) * plain_bytes(kType), 2 * plain_bytes(kType));
    store(static_cast<float*>(tile) + size_t{16} * c, load_plain<kType>(panel, col + c));
  }
}

// kOneChain: the sums continue from `acc`, column by column; else each kChainCols columns are summed and then added.
template <int kRows, bool kOneChain>
void gemm_f32_rows(const void* tile0, const void* tile1, uint32_t n, const void* const* rows, float* acc, bool first) {
  const auto *w0 = static_cast<const float*>(tile0), *w1 = static_cast<const float*>(tile1);
  const float* x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = static_cast<const float*>(rows[r]);
  const uint32_t n_chain = kOneChain ? n : kChainCols;
  for (uint32_t begin = 0; begin < n; begin += n_chain) {
    const uint32_t end = begin + n_chain < n ? begin + n_chain : n;
    const bool starts = first && begin == 0;
    F a[kRows][2];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      a[r][0] = kOneChain && !starts ? load(acc + 32 * r) : zero();
      a[r][1] = kOneChain && !starts ? load(acc + 32 * r + 16) : zero();
    }
    for (uint32_t c = begin; c < end; ++c) {
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
      float* to = acc + 32 * r;
      store(to, kOneChain ? a[r][0] : add(starts ? zero() : load(to), a[r][0]));
      store(to + 16, kOneChain ? a[r][1] : add(starts ? zero() : load(to + 16), a[r][1]));
    }
  }
}

template <int kRows, bool kOneChain>
void gemm_f32(const void* tile0, const void* tile1, uint32_t n, const void* const* rows, uint32_t n_rows, float* acc,
              bool first) {
  if constexpr (kRows > 1) {
    if (n_rows < kRows) return gemm_f32<kRows - 1, kOneChain>(tile0, tile1, n, rows, n_rows, acc, first);
  }
  gemm_f32_rows<kRows, kOneChain>(tile0, tile1, n, rows, acc, first);
}

#if defined(RZ_BF16)
void to_bf16(const float* x, uint32_t n, uint16_t* y, size_t stride) {
  for (uint32_t i = 0; i + 16 <= n; i += 16) {
    store_bf16(y + i / kTileDepth * stride + i % kTileDepth, load(x + i));
  }
}

void split_bf16(const float* x, uint32_t n, uint16_t* high, uint16_t* low, size_t stride) {
  for (uint32_t i = 0; i + 16 <= n; i += 16) {
    const size_t at = i / kTileDepth * stride + i % kTileDepth;
    const F value = load(x + i);
    const F rounded = round_bf16(value);
    store_bf16(high + at, rounded);
    store_bf16(low + at, sub(value, rounded));
  }
}

// Splits two columns.
RZ_INLINE void split_pairs(F even, F odd, uint16_t* high, uint16_t* low) {
  const F rounded_even = round_bf16(even), rounded_odd = round_bf16(odd);
  store_bf16_pairs(high, rounded_even, rounded_odd);
  store_bf16_pairs(low, sub(even, rounded_even), sub(odd, rounded_odd));
}

void split_tile(const float* tile, uint32_t n, uint16_t* high, uint16_t* low) {
  for (uint32_t c = 0; c + 2 <= n; c += 2) {
    const size_t at = size_t{16} * c;
    split_pairs(load(tile + at), load(tile + at + 16), high + at, low + at);
  }
}

// Columns of a panel in the format of split_tile(); bf16 values have no second halves.
template <TypeId kType>
void unpack_plain_bf16(const uint8_t* panel, uint32_t col, uint32_t n, void* tile) {
  auto *high = static_cast<uint16_t*>(tile), *low = high + size_t{16} * n;
  for (uint32_t c = 0; c + 2 <= n; c += 2) {
    prefetch(panel + (col + c) * plain_bytes(kType), 2 * plain_bytes(kType));
    const size_t at = size_t{16} * c;
    if constexpr (kType == TypeId::kBF16) {
      interleave_columns(high + at, panel + size_t{32} * (col + c));
    } else {
      split_pairs(load_plain<kType>(panel, col + c), load_plain<kType>(panel, col + c + 1), high + at, low + at);
    }
  }
}
#endif
