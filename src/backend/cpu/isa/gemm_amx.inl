// Products with BF16 tiles in AMX registers, written in terms of tile functions (amx.cpp, or emulated_tiles.inl in
// tests). A register holds 16 rows of 64 bytes. Registers 0 to 3: sums [2 blocks of 16 rows][2 tiles of 16 outputs]; 4
// and 5: activations of the two blocks; 6 and 7: weights, as pairs of columns, like in their tile.

constexpr uint32_t kAmxRows = 32;

// Strides of 32 rows of activations, in bytes: between rows, between blocks of 16 rows, between sets of 32 columns, and
// between the rows' first and second halves.
struct RowPlaces {
  size_t row, block, columns, low;
};

// Multiplies the rows' and the weights' tiles in registers 4 to 7.
inline void add_tile_products() {
  tile_dot<0, 4, 6>();
  tile_dot<1, 4, 7>();
  tile_dot<2, 5, 6>();
  tile_dot<3, 5, 7>();
}

// acc [32][32] += rows . tiles.
template <bool kRowHalves, bool kWeightHalves>
inline void multiply_tiles(const Bf16Tiles& tiles, uint32_t n, const uint8_t* rows, RowPlaces places, float* acc,
                           bool first) {
  constexpr size_t kAccStride = 32 * sizeof(float);
  const auto *w0 = static_cast<const uint8_t*>(tiles.tile0), *w1 = static_cast<const uint8_t*>(tiles.tile1);
  if (first) {
    tile_zero<0>();
    tile_zero<1>();
    tile_zero<2>();
    tile_zero<3>();
  } else {
    tile_load<0>(acc, kAccStride);
    tile_load<1>(acc + 16, kAccStride);
    tile_load<2>(acc + 16 * 32, kAccStride);
    tile_load<3>(acc + 16 * 32 + 16, kAccStride);
  }
  for (uint32_t c = 0; c < n; c += 32, rows += places.columns, w0 += 1024, w1 += 1024) {
    tile_load<4>(rows, places.row);
    tile_load<5>(rows + places.block, places.row);
    if constexpr (kWeightHalves) {
      tile_load<6>(w0 + tiles.low, 64);
      tile_load<7>(w1 + tiles.low, 64);
      add_tile_products();
    }
    tile_load<6>(w0, 64);
    tile_load<7>(w1, 64);
    add_tile_products();
    if constexpr (kRowHalves) {
      tile_load<4>(rows + places.low, places.row);
      tile_load<5>(rows + places.low + places.block, places.row);
      add_tile_products();
    }
  }
  tile_store<0>(acc, kAccStride);
  tile_store<1>(acc + 16, kAccStride);
  tile_store<2>(acc + 16 * 32, kAccStride);
  tile_store<3>(acc + 16 * 32 + 16, kAccStride);
}

inline void multiply_tiles(const Bf16Tiles& tiles, uint32_t n, const uint8_t* rows, RowPlaces places, float* acc,
                           bool first) {
  const auto multiply = places.low == 0  ? multiply_tiles<false, false>
                        : tiles.low == 0 ? multiply_tiles<true, false>
                                         : multiply_tiles<true, true>;
  multiply(tiles, n, rows, places, acc, first);
}

template <class Row>
bool are_evenly_spaced(const Row* const* rows, uint32_t n_rows) {
  const auto at = [&](uint32_t i) { return reinterpret_cast<const uint8_t*>(rows[i]); };
  for (uint32_t i = 2; i < n_rows; ++i) {
    if (at(i) - at(i - 1) != at(1) - at(0)) return false;
  }
  return at(1) > at(0);
}

// GemmBf16Fn; n is a multiple of 32. Scattered rows, or fewer than 32, are gathered first, this many columns at a time.
constexpr uint32_t kGatheredCols = 256;

void gemm_bf16_amx(const Bf16Tiles& tiles, uint32_t n, const void* const* rows, size_t row_low, uint32_t n_rows,
                   float* acc, bool first) {
  if (n_rows == kAmxRows && are_evenly_spaced(rows, n_rows)) {
    const auto* x = static_cast<const uint8_t*>(rows[0]);
    const auto stride = static_cast<size_t>(static_cast<const uint8_t*>(rows[1]) - x);
    multiply_tiles(tiles, n, x, {stride, 16 * stride, 64, row_low}, acc, first);
    return;
  }
  constexpr size_t kHalf = size_t{kAmxRows} * kGatheredCols * 2;
  alignas(64) uint8_t gathered[2 * kHalf];
  alignas(64) float sums[kAmxRows * 32] = {};
  const size_t sum_bytes = size_t{n_rows} * 32 * sizeof(float), n_halves = row_low == 0 ? 1 : 2;
  if (!first) __builtin_memcpy(sums, acc, sum_bytes);
  for (uint32_t col = 0; col < n; col += kGatheredCols) {
    const uint32_t n_cols = n - col < kGatheredCols ? n - col : kGatheredCols;
    const size_t row_bytes = size_t{2} * n_cols;
    for (size_t half = 0; half < n_halves; ++half) {
      uint8_t* to = gathered + half * kHalf;
      for (uint32_t r = 0; r < n_rows; ++r) {
        const uint8_t* from = static_cast<const uint8_t*>(rows[r]) + size_t{2} * col + half * row_low;
        __builtin_memcpy(to + r * row_bytes, from, row_bytes);
      }
      __builtin_memset(to + n_rows * row_bytes, 0, (kAmxRows - n_rows) * row_bytes);
    }
    const auto at = [&](const void* tile) { return static_cast<const uint8_t*>(tile) + size_t{32} * col; };
    multiply_tiles({at(tiles.tile0), at(tiles.tile1), tiles.low}, n_cols, gathered,
                   {row_bytes, 16 * row_bytes, 64, row_low == 0 ? 0 : kHalf}, sums, first && col == 0);
  }
  __builtin_memcpy(acc, sums, sum_bytes);
}

void gemm_row_tiles_amx(const Bf16Tiles& tiles, uint32_t n, const uint8_t* rows, size_t row_low, float* acc,
                        bool first) {
  multiply_tiles(tiles, n, rows, {64, kRowBlockBytes, kRowTileBytes, row_low}, acc, first);
}

// kernels.h's peak loops count 16 lanes times 16 chains per step; a product of tiles is 16 times that.
float peak_bf16_amx(uint32_t n_steps) {
  tile_configure(kBf16TileRowBytes);
  alignas(64) const uint8_t zeros[16 * 64] = {};
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  tile_load<4>(zeros, 64);
  tile_load<6>(zeros, 64);
  for (uint32_t i = 0; i < n_steps / 64; ++i) {
    tile_dot<0, 4, 6>();
    tile_dot<1, 4, 6>();
    tile_dot<2, 4, 6>();
    tile_dot<3, 4, 6>();
  }
  alignas(64) float sums[16 * 16];
  tile_store<0>(sums, 64);
  return sums[0];
}
