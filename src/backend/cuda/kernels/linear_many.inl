// Products of prompt rows with a matrix of a group type, by the int8 matrix instructions. A block computes 128 columns
// of the output for 64 rows, a warp 32 for 32; it processes two groups of 32 columns per step, whose weights it unpacks
// once into shared memory while the previous step is multiplied. Each group is one exact integer product (two if its
// halves have separate scales), scaled and added in F32 before the next: a row's result does not depend on its tile.
// Bound by that scaling: 3 to 9 instructions for each 32 products, several times the integer part.

constexpr uint32_t kManyThreads = 256;
constexpr uint32_t kManyGroups = 2;  // per step
constexpr uint32_t kManyWarpCols = 32, kManyWarpRows = 32;
constexpr uint32_t kManyTileWords = (kTileCols + kTileRows) * kTileRowWords;

struct ManyPlace {
  uint32_t first_row, end_row, first_col;
  uint32_t first_weight;  // the expert's first row
  // The thread's loads: a row of activations of which it copies a quarter, and one of which it loads a scale.
  uint32_t code_row, scale_row;
};

RZ_DEVICE ManyPlace many_place(const LinearArgs& a) {
  const TileRows rows = tile_rows(a);
  ManyPlace p{rows.first, rows.end, block_y() * kTileCols, rows.first_weight, 0, 0};
  if (p.first_row >= p.end_row) return p;
  p.code_row = in_row(a, clamped(p.first_row + thread_idx() / kTileRowPieces, p.end_row));
  p.scale_row = in_row(a, clamped(p.first_row + thread_idx() / kManyGroups, p.end_row));
  return p;
}

// A step's groups in the format of the matrix instructions.
template <class Format>
struct ManyStage {
  static constexpr uint32_t kColScales = Format::kScales * kTileCols, kRowScales = (1 + Format::kSums) * kTileRows;
  static constexpr uint32_t kScales = kManyGroups * (kColScales + kRowScales);
  uint32_t* tile;  // weights, then activations
  float* scales;   // of the weights [group, kColScales], then of the activations [group, kRowScales]

  RZ_DEVICE uint32_t* rows() const { return tile + kTileCols * kTileRowWords; }
  RZ_DEVICE float* col_scales(uint32_t group) const { return scales + group * kColScales; }
  RZ_DEVICE float* row_scales(uint32_t group) const { return scales + kManyGroups * kColScales + group * kRowScales; }
};

// A thread's data for a step that passes through registers: a group of a weight row; for the first half of the threads
// also the scale of an activation's group.
template <class Format>
struct ManyPart {
  typename Format::Stored weight;
  float scale;
  int32_t halves;
};

template <class Format>
RZ_DEVICE ManyPart<Format> load_many_part(const LinearArgs& a, const ManyPlace& p, uint32_t step) {
  static_assert(kTileCols * kManyGroups == kManyThreads);
  const uint32_t n_groups = a.weight.n_cols / kGroupCols, i = thread_idx() / kManyGroups;
  const uint32_t step_g = step * kManyGroups + thread_idx() % kManyGroups, g = clamped(step_g, n_groups);
  ManyPart<Format> part{Format::load(a.weight, p.first_weight + clamped(p.first_col + i, a.weight.n_rows), g), 0, 0};
  if (i < kTileRows) {
    const uint64_t at = uint64_t{p.scale_row} * n_groups + g;
    part.scale = step_g < n_groups ? a.quants.scales[at] : 0;  // groups beyond the last add nothing
    if (Format::kSums > 0) part.halves = a.quants.halves[at];
  }
  return part;
}

template <class Format>
RZ_DEVICE void store_many_part(const ManyPart<Format>& part, const ManyStage<Format>& stage) {
  const uint32_t i = thread_idx() / kManyGroups, group = thread_idx() % kManyGroups;
  store_group<Format>(part.weight, stage.tile, i, group, stage.col_scales(group), kTileCols);
  if (i < kTileRows) store_row_scale<Format>(part.scale, part.halves, stage.row_scales(group), i, kTileRows);
}

// Starts the copy of the activations' codes.
RZ_DEVICE void copy_many_rows(const LinearArgs& a, const ManyPlace& p, uint32_t step, uint32_t* tile) {
  static_assert(kTileRows * kTileRowPieces == kManyThreads);
  const uint32_t n_groups = a.weight.n_cols / kGroupCols;
  const uint32_t row = thread_idx() / kTileRowPieces, piece = thread_idx() % kTileRowPieces;
  const uint32_t g = clamped(step * kManyGroups + piece / 2, n_groups);
  const uint64_t at = uint64_t{p.code_row} * n_groups + g;
  copy_async16(tile + tile_word(row, piece), a.quants.codes + at * 8 + piece % 2 * 4);
  commit_copies();
}

// sums[i][j]: 16 columns times 8 rows.
template <class Format>
RZ_DEVICE void multiply_many_group(const ManyStage<Format>& stage, uint32_t group, uint32_t col, uint32_t row,
                                   float (&sums)[2][4][4]) {
  // Tiles of columns in registers: the scales of halves use the registers of a second one.
  constexpr uint32_t kHeld = Format::kHasHalves ? 1 : 2;
  for (uint32_t first = 0; first < 2; first += kHeld) {
    GroupCols<Format> cols[kHeld];
    for (uint32_t i = 0; i < kHeld; ++i) {
      cols[i] = load_group_cols<Format>(stage.tile, col + 16 * (first + i), group, stage.col_scales(group), kTileCols);
    }
    uint32_t words[4];  // of two tiles of rows
    for (uint32_t j = 0; j < 4; ++j) {
      // Keeps the compiler from loading more scales in advance than there are registers.
      if (Format::kHasHalves && j % 2 == 0) warp_barrier();
      if (j % 2 == 0) load_fragment(words, stage.rows(), row + 8 * j, group);
      GroupRows<Format> rows{{words[j % 2], words[2 + j % 2]}, {}};
      load_group_row_scales(rows, stage.row_scales(group), row + 8 * j, kTileRows);
      for (uint32_t i = 0; i < kHeld; ++i) {
        float y[4];
        multiply_group(cols[i], rows, y);
        float(&sum)[4] = sums[first + i][j];
        for (uint32_t e = 0; e < 4; ++e) sum[e] = fmaf(rows.scales[0].value[e % 2], y[e], sum[e]);
      }
    }
  }
}

template <class Format>
RZ_KERNEL_WITHIN(kManyThreads, 2)
void linear_many_kernel(LinearArgs a) {
  using Stage = ManyStage<Format>;
  RZ_SHARED(uint32_t, tiles, 2 * kManyTileWords);
  RZ_SHARED(float, scales, 2 * Stage::kScales);
  const ManyPlace p = many_place(a);
  if (p.first_row >= p.end_row) return;
  const auto stage = [&](uint32_t step) {
    return Stage{tiles + step % 2 * kManyTileWords, scales + step % 2 * Stage::kScales};
  };
  const uint32_t warp = thread_idx() / 32;
  const uint32_t col = warp / 2 * kManyWarpCols, row = warp % 2 * kManyWarpRows;
  const uint32_t n_groups = a.weight.n_cols / kGroupCols, n_steps = (n_groups + kManyGroups - 1) / kManyGroups;
  float sums[2][4][4] = {};
  copy_many_rows(a, p, 0, stage(0).rows());
  store_many_part(load_many_part<Format>(a, p, 0), stage(0));
  for (uint32_t step = 0; step < n_steps; ++step) {
    wait_for_copies<0>();
    barrier();  // all have their part of this stage, and are done with the previous one, which the next replaces
    const bool has_next = step + 1 < n_steps;
    ManyPart<Format> next{};
    if (has_next) {
      copy_many_rows(a, p, step + 1, stage(step + 1).rows());
      next = load_many_part<Format>(a, p, step + 1);
    }
    for (uint32_t group = 0; group < kManyGroups; ++group) multiply_many_group(stage(step), group, col, row, sums);
    if (has_next) store_many_part(next, stage(step + 1));
  }
  // Half of the tile's rows at a time, in the memory of the tiles.
  auto* staged = reinterpret_cast<float*>(tiles);
  for (uint32_t half = 0; half < 2; ++half) {
    barrier();
    if (row == half * kManyWarpRows) {
      for (uint32_t i = 0; i < 2; ++i) {
        for (uint32_t j = 0; j < 4; ++j) stage_results(sums[i][j], staged, 8 * j, col + 16 * i);
      }
    }
    barrier();
    finish_tile<kManyThreads>(a, staged, p.first_row + half * kManyWarpRows, kManyWarpRows, p.end_row, p.first_col,
                              nullptr);
  }
}

// Rows vary fastest, so that concurrent blocks share their weights in the cache.
void linear_many(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{n_row_tiles(a, max_rows), (a.weight.n_rows + kTileCols - 1) / kTileCols};
  with_format(a.weight.type, [&](auto format) {
    using Format = decltype(format);
    if constexpr (Format::kHasGroups) launch(linear_many_kernel<Format>, grid, kManyThreads, a, stream);
  });
}
