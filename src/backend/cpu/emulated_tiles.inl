// AMX tile registers emulated by arrays, for tests: the tile functions that gemm_amx.inl uses, as the Intel SDM
// describes their instructions. BF16 products treat denormals as zero and flush denormal sums.
struct TileRegister {
  alignas(64) uint8_t rows[16][64];
};
thread_local TileRegister registers[8];
thread_local uint32_t configured_row_bytes;  // of activations

inline void tile_configure(uint32_t row_bytes) {
  __builtin_memset(registers, 0xff, sizeof registers);  // NaN: nothing may be read before it is set
  configured_row_bytes = row_bytes;
}
template <int kTile>
inline void tile_zero() {
  __builtin_memset(&registers[kTile], 0, sizeof registers[kTile]);
}
template <int kTile>
inline void tile_load(const void* from, size_t stride) {
  constexpr bool kIsRows = kTile == 4 || kTile == 5, kIsWeights = kTile == 6 || kTile == 7;
  const size_t n_rows = kIsWeights ? configured_row_bytes / 4 : 16, n_bytes = kIsRows ? configured_row_bytes : 64;
  for (size_t r = 0; r < n_rows; ++r) {
    __builtin_memcpy(registers[kTile].rows[r], static_cast<const uint8_t*>(from) + r * stride, n_bytes);
  }
}
template <int kTile>
inline void tile_store(void* to, size_t stride) {
  for (size_t r = 0; r < 16; ++r)
    __builtin_memcpy(static_cast<uint8_t*>(to) + r * stride, registers[kTile].rows[r], 64);
}

using Floats [[gnu::vector_size(64)]] = float;
using Words [[gnu::vector_size(64)]] = uint32_t;

inline Floats load_words(const Words& bits) {
  Floats values;
  __builtin_memcpy(&values, &bits, sizeof values);
  return values;
}
inline Floats flushed(Floats x) {
  return ((x < 0x1p-126f) & (x > -0x1p-126f)) != 0 ? Floats{} : x;
}
// The first value of each pair in a row, or the second.
inline Floats bf16_values(const uint8_t* row, size_t i) {
  Words pairs;
  __builtin_memcpy(&pairs, row, sizeof pairs);
  return flushed(load_words(i == 0 ? pairs << 16 : pairs & 0xffff0000u));
}

// TDPBF16PS: sums[m][n] += a[m][2k] * b[k][2n] + a[m][2k + 1] * b[k][2n + 1] over the 16 rows k of b.
template <int kSums, int kRows, int kWeights>
inline void tile_dot() {
  for (size_t m = 0; m < 16; ++m) {
    Floats sums;
    __builtin_memcpy(&sums, registers[kSums].rows[m], sizeof sums);
    const Floats a[2] = {bf16_values(registers[kRows].rows[m], 0), bf16_values(registers[kRows].rows[m], 1)};
    for (size_t k = 0; k < 16; ++k) {
      for (size_t i = 0; i < 2; ++i) {
        sums = flushed(sums + flushed(a[i][k] * bf16_values(registers[kWeights].rows[k], i)));
      }
    }
    __builtin_memcpy(registers[kSums].rows[m], &sums, sizeof sums);
  }
}

// TDPBSUD: sums[m][n] += a[m][4k + i] * b[k][4n + i] over i < 4 and the rows k of b, a signed and b unsigned.
template <int kSums, int kRows, int kWeights>
inline void tile_dot_int8() {
  for (size_t m = 0; m < 16; ++m) {
    Words sums;
    __builtin_memcpy(&sums, registers[kSums].rows[m], sizeof sums);
    for (size_t k = 0; k < configured_row_bytes / 4; ++k) {
      Words codes;
      __builtin_memcpy(&codes, registers[kWeights].rows[k], sizeof codes);
      for (size_t i = 0; i < 4; ++i) {
        const auto a = static_cast<int8_t>(registers[kRows].rows[m][4 * k + i]);
        sums += (codes >> (8 * i) & 255u) * static_cast<uint32_t>(int32_t{a});
      }
    }
    __builtin_memcpy(registers[kSums].rows[m], &sums, sizeof sums);
  }
}
