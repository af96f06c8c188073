// Attention apart from products with panels: the running softmax, and values as the cache stores them.

// +infinity in lanes [from, to) of 32, the first of which is `lane`, and -infinity in the others.
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

// Processes several rows together, to overlap their latencies.
template <int kRows>
RZ_INLINE void softmax_rows(float* scores, uint32_t from, uint32_t to, float scale, float softcap, Softmax* states,
                            float* corrections) {
  const bool is_whole = from == 0 && to == kKvPiece;
  F s[kRows][2];
  float largest[kRows], earlier[16] = {};
  bool any_grew = false;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    for (uint32_t i = 0; i < 2; ++i) {
      s[r][i] = mul(load(scores + kKvPiece * r + 16 * i), set1(scale));
      if (softcap > 0) s[r][i] = mul(tanh_of(mul(s[r][i], set1(1.0f / softcap))), set1(softcap));
      if (!is_whole) s[r][i] = min(s[r][i], between(from, to, 16 * i));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) largest[r] = reduce_max(max(s[r][0], s[r][1]));
  for (int r = 0; r < kRows; ++r) {
    if (largest[r] > states[r].max) {
      earlier[r] = states[r].max - largest[r];
      states[r].max = largest[r];
      any_grew = true;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    for (uint32_t i = 0; i < 2; ++i) {
      s[r][i] = exp_of(sub(s[r][i], set1(states[r].max)));
      if (!is_whole) s[r][i] = min(s[r][i], max(between(from, to, 16 * i), zero()));
      store(scores + kKvPiece * r + 16 * i, s[r][i]);
    }
  }
  float factors[16];
  store(factors, any_grew ? exp_of(load(earlier)) : set1(1.0f));
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    corrections[r] = factors[r];
    states[r].sum = states[r].sum * factors[r] + reduce(add(s[r][0], s[r][1]));
  }
}

void softmax_piece(float* scores, uint32_t n_rows, uint32_t from, uint32_t to, float scale, float softcap,
                   Softmax* states, float* corrections) {
  if (from >= to) {
    for (uint32_t i = 0; i < n_rows * kKvPiece; i += 16) store(scores + i, zero());
    for (uint32_t r = 0; r < n_rows; ++r) corrections[r] = 1.0f;
    return;
  }
  uint32_t r = 0;
  for (; r + 4 <= n_rows; r += 4) {
    softmax_rows<4>(scores + kKvPiece * r, from, to, scale, softcap, states + r, corrections + r);
  }
  for (; r < n_rows; ++r) {
    softmax_rows<1>(scores + kKvPiece * r, from, to, scale, softcap, states + r, corrections + r);
  }
}

// Storage of a vector in the cache, in the order of KvType.
enum class Stored { kF32, kF16, kBF16, kQ8_0, kF8, kQ4_0 };

// Half a block of Q4_0: an F16 scale and 32 nibbles, the first 16 of them low nibbles.
RZ_INLINE F nibble_columns(const uint8_t* block, bool high) {
  uint64_t packed[2];
  __builtin_memcpy(packed, block + 2, sizeof packed);
  for (uint64_t& eight : packed) eight = (high ? eight >> 4 : eight) & 0x0f0f0f0f0f0f0f0fu;
  return mul(sub(load_u8(packed), set1(8.0f)), set1_f16(block));
}

// Bytes of n columns, rounded up to whole blocks for block types.
template <Stored kType>
constexpr uint32_t value_bytes(uint32_t n) {
  if (kType == Stored::kQ8_0) return (n + 31) / 32 * 34;
  if (kType == Stored::kQ4_0) return (n + 31) / 32 * 18;
  return n * (kType == Stored::kF32 ? 4 : kType == Stored::kF8 ? 1 : 2);
}

// Columns [col, col + n) of a vector, n <= 16, followed by zeros. Q8_0: an F16 scale and 32 int8 quants per block.
// Block types: only whole blocks.
template <Stored kType>
RZ_INLINE F value_columns(const uint8_t* x, uint32_t col, uint32_t n) {
  if constexpr (kType == Stored::kQ8_0) {
    const uint8_t* block = x + value_bytes<kType>(col / 32 * 32);
    return mul(load_i8(block + 2 + col % 32), set1_f16(block));
  }
  if constexpr (kType == Stored::kQ4_0) {
    return nibble_columns(x + value_bytes<kType>(col / 32 * 32), col % 32 >= 16);
  }
  alignas(64) uint8_t tail[64] = {};
  const uint8_t* from = x + value_bytes<kType>(col);
  if (n < 16) {
    for (uint32_t i = 0; i < value_bytes<kType>(n); ++i) tail[i] = from[i];
    from = tail;
  }
  if constexpr (kType == Stored::kF32) return load(reinterpret_cast<const float*>(from));
  if constexpr (kType == Stored::kF16) return load_f16(from);
  if constexpr (kType == Stored::kBF16) return load_bf16(from);
  return load_f8(from);
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

// Columns [col, col + 16 * kVectors) of `sums`, for kRows rows; the last vector has n_last valid elements.
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
    prefetch(x + i * n_bytes + value_bytes<kType>(col), value_bytes<kType>(16 * kVectors));
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
