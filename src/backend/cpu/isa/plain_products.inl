// Products with panels of plain types, [n_cols][16] (of F8 as F8Panel says), and with F32 tiles of 16 rows: two of them
// times kRows rows of activations, everything in registers.

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

// One chain of sums an output, as in gemm_f32: a generated token's product is a prompt token's.
template <TypeId kType, int kRows>
void dot_pair_rows(const uint8_t* panel0, const uint8_t* panel1, uint32_t n_cols, const float* const* rows,
                   float* acc) {
  F a[kRows][2];
  for (auto& row : a) row[0] = row[1] = zero();
  constexpr uint32_t kAtOnce = 4;
  const auto add_column = [&](uint32_t c) {
    const F w0 = load_plain<kType>(panel0, c), w1 = load_plain<kType>(panel1, c);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F x = set1(rows[r][c]);
      a[r][0] = fma(w0, x, a[r][0]);
      a[r][1] = fma(w1, x, a[r][1]);
    }
  };
  // Where a panel ends, the next pair is asked for, which begins behind the other panel.
  const auto to_next_pair = static_cast<size_t>(panel1 - panel0);
  uint32_t c = 0;
  for (; c + kAtOnce <= n_cols; c += kAtOnce) {
    const size_t at = size_t{c} * plain_bytes(kType);
    const size_t ahead = (n_cols - c) * plain_bytes(kType) > kBytesAhead ? at : at + to_next_pair;
    prefetch(panel0 + ahead, kAtOnce * plain_bytes(kType));
    prefetch(panel1 + ahead, kAtOnce * plain_bytes(kType));
#pragma GCC unroll 4
    for (uint32_t k = 0; k < kAtOnce; ++k) add_column(c + k);
  }
  for (; c < n_cols; ++c) add_column(c);
  for (int r = 0; r < kRows; ++r) {
    store(acc + 32 * r, a[r][0]);
    store(acc + 32 * r + 16, a[r][1]);
  }
}

template <TypeId kType>
void dot_pair(const uint8_t* panel0, const uint8_t* panel1, uint32_t n_cols, const float* const* rows, uint32_t n_rows,
              float* acc) {
  switch (n_rows) {
    case 1:
      return dot_pair_rows<kType, 1>(panel0, panel1, n_cols, rows, acc);
    case 2:
      return dot_pair_rows<kType, 2>(panel0, panel1, n_cols, rows, acc);
    case 3:
      return dot_pair_rows<kType, 3>(panel0, panel1, n_cols, rows, acc);
    default:
      return dot_pair_rows<kType, 4>(panel0, panel1, n_cols, rows, acc);
  }
}

template <TypeId kType>
void unpack_plain(const uint8_t* panel, uint32_t col, uint32_t n, void* tile) {
  for (uint32_t c = 0; c < n; ++c) {
    if (c % 2 == 0) prefetch(panel + (col + c) * plain_bytes(kType), 2 * plain_bytes(kType));
    store(static_cast<float*>(tile) + size_t{16} * c, load_plain<kType>(panel, col + c));
  }
}

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
