// Products of codes with int8 tiles in AMX registers, written in terms of the tile functions like gemm_amx.inl. Sums
// over a tile's columns are exact, and the rest is VNNI's code, so the results are those of gemm_int8(). Registers 0
// and 1, or 2 and 3: sums of 16 rows for both panels; 4 or 5: activations; 6 and 7: codes, stored in a CodeTile as the
// instruction requires, four columns of each of 16 outputs per row.

struct alignas(64) SeedRow {
  int32_t sums[16];
};
constexpr SeedRow make_seed_row() {
  SeedRow row{};
  for (int32_t& sum : row.sums) sum = kPartSeedBits;
  return row;
}
constexpr SeedRow kSeedRow = make_seed_row();

// Strides of the quants of 16 rows, in bytes: between rows, and between groups.
struct QuantRows {
  const int8_t* at;
  size_t row, group;
};

// The prepared rows themselves if they are 16 evenly spaced ones, else a copy in `gathered` [kTileCols / 32][16][32],
// with the last row repeated in place of missing ones.
inline QuantRows quant_rows(const ActGroup* const* rows, uint32_t n_rows, uint32_t n_groups, int8_t* gathered) {
  if (n_rows == kTileRows && are_evenly_spaced(rows, n_rows)) {
    return {rows[0]->quants, static_cast<size_t>(rows[1]->quants - rows[0]->quants), sizeof(ActGroup)};
  }
  for (uint32_t g = 0; g < n_groups; ++g) {
    for (uint32_t i = 0; i < kTileRows; ++i) {
      const ActGroup& group = rows[i < n_rows ? i : n_rows - 1][g];
      __builtin_memcpy(gathered + (g * kTileRows + i) * kGroupCols, group.quants, kGroupCols);
    }
  }
  return {gathered, kGroupCols, size_t{kTileRows} * kGroupCols};
}

// Sums of some columns for 16 rows with the 16 outputs of each panel, starting from kPartSeed's bits.
using TileSums = int32_t[2][kTileRows][16];

template <int kSums, int kRows>
inline void multiply_code_tile(const int8_t* rows, size_t row_stride, const uint8_t* codes0, const uint8_t* codes1,
                               TileSums& sums) {
  tile_load<kSums>(&kSeedRow, 0);
  tile_load<kSums + 1>(&kSeedRow, 0);
  tile_load<kRows>(rows, row_stride);
  tile_load<6>(codes0, 64);
  tile_load<7>(codes1, 64);
  tile_dot_int8<kSums, kRows, 6>();
  tile_dot_int8<kSums + 1, kRows, 7>();
  tile_store<kSums>(sums[0], 64);
  tile_store<kSums + 1>(sums[1], 64);
}

// sums [n / 32][n_subs]
template <PanelLayout L>
void multiply_code_tiles(const CodeTile* const* tiles, uint32_t n, QuantRows rows, TileSums* sums) {
  constexpr int n_vectors = 8 / L.n_subs();
  for (uint32_t g = 0; g < n / 32; ++g, rows.at += rows.group) {
    for (int s = 0; s < L.n_subs(); ++s, ++sums) {
      const uint8_t *codes0 = tiles[0]->groups[g].codes[n_vectors * s],
                    *codes1 = tiles[1]->groups[g].codes[n_vectors * s];
      const int8_t* quants = rows.at + L.sub * s;
      if ((L.n_subs() == 2 ? s : g) % 2 == 0) {
        multiply_code_tile<0, 4>(quants, rows.row, codes0, codes1, *sums);
      } else {
        multiply_code_tile<2, 5>(quants, rows.row, codes0, codes1, *sums);
      }
    }
  }
}

// The sums as the Dots of gemm_int8_rows(), starting at some row.
struct TileDots {
  const int32_t* at;

  TileDots from(uint32_t row) const { return {at + 16 * row}; }
  template <PanelLayout L, int kRows>
  RZ_INLINE void get(const CodeTile* const*, uint32_t g, int s, I (*dots)[kInt8Panels]) const {
    const int32_t* sums = at + (g * L.n_subs() + s) * (sizeof(TileSums) / sizeof(int32_t));
    for (int r = 0; r < kRows; ++r) {
      for (int p = 0; p < kInt8Panels; ++p) dots[r][p] = {_mm512_load_si512(sums + (p * kTileRows + r) * 16)};
    }
  }
};

// GemmInt8Fn for kMinInt8TileRows to kTileRows rows.
template <PanelLayout L>
void gemm_int8_tiles(const void* tile0, const void* tile1, uint32_t n, const ActGroup* const* rows, uint32_t n_rows,
                     float* acc, bool first) {
  static_assert(kInt8Panels == 2 && kPartSeed != 0);
  const CodeTile* tiles[] = {static_cast<const CodeTile*>(tile0), static_cast<const CodeTile*>(tile1)};
  alignas(64) int8_t gathered[kTileRows * kTileCols];
  alignas(64) TileSums sums[kTileCols / 32 * L.n_subs()];
  multiply_code_tiles<L>(tiles, n, quant_rows(rows, n_rows, n / 32, gathered), sums);
  gemm_int8_panels<L>(tiles, n, rows, n_rows, TileDots{sums[0][0][0]}, acc, first);
}
