// Tiles in shared memory for the matrix instructions. A tile's rows are 64 bytes, in four pieces of 16: 32 halves or 64
// codes, two steps of an instruction. Pieces are permuted, so that eight rows that are read together are in different
// banks.

constexpr uint32_t kTileRowWords = 16;
constexpr uint32_t kTileRowPieces = 4;
constexpr uint32_t kTileCols = 128;                // columns of the output
constexpr uint32_t kStagedStride = kTileCols + 4;  // floats between staged rows; 4 keeps banks apart

RZ_DEVICE uint32_t tile_word(uint32_t row, uint32_t piece) {
  return row * kTileRowWords + (piece ^ (row / 2 % kTileRowPieces)) * 4;
}

// Step k of 16 rows starting at `row`, a multiple of 8: as the operand of 16 rows, or as the operands of twice 8
// columns, one of them in words 0 and 2.
RZ_DEVICE void load_fragment(uint32_t (&words)[4], const uint32_t* tile, uint32_t row, uint32_t k) {
  const uint32_t lane = thread_idx() % 32;
  load_matrices(words, tile + row * kTileRowWords + tile_word(lane % 16, 2 * k + lane / 16));
}

struct WideTile {
  static constexpr uint32_t kPieces = kTileRowPieces;
  RZ_DEVICE static uint32_t word(uint32_t row, uint32_t piece) { return tile_word(row, piece); }
};

// Starts the copy of the pieces of each of `n_rows` rows of a Tile; a thread's i-th piece is in memory row row_of(i,
// its row in the tile).
template <class Tile, uint32_t n_rows, uint32_t n_threads, class RowOf>
RZ_DEVICE void copy_tile(uint32_t* tile, const uint32_t* from, uint64_t row_words, const RowOf& row_of) {
  static_assert(n_rows * Tile::kPieces % n_threads == 0);
  RZ_UNROLL for (uint32_t i = 0; i < n_rows * Tile::kPieces / n_threads; ++i) {
    const uint32_t at = i * n_threads + thread_idx(), row = at / Tile::kPieces, piece = at % Tile::kPieces;
    copy_async16(tile + Tile::word(row, piece), from + row_of(i, row) * row_words + 4 * piece);
  }
}

// Stages a lane's results for 16 columns starting at `col` and 8 rows starting at `row`.
RZ_DEVICE void stage_results(const float (&results)[4], float* staged, uint32_t row, uint32_t col) {
  const uint32_t lane = thread_idx() % 32;
  for (uint32_t i = 0; i < 4; ++i) {
    staged[(row + lane % 4 * 2 + i % 2) * kStagedStride + col + lane / 4 + i / 2 * 8] = results[i];
  }
}

// The row of the output, and of the activations, for row `i` of a tile.
RZ_DEVICE uint32_t out_row(const LinearArgs& a, uint32_t i) {
  return a.groups.pairs == nullptr ? i : a.groups.pairs[i];
}
RZ_DEVICE uint32_t in_row(const LinearArgs& a, uint32_t i) {
  return a.groups.pairs == nullptr ? i : a.groups.pairs[i] / a.pairs_each;
}

// The rows of the block's tile, if any, and the first row of their expert's weights.
struct TileRows {
  uint32_t first, end, first_weight;
};
RZ_DEVICE TileRows tile_rows(const LinearArgs& a) {
  if (a.groups.pairs == nullptr) return {*a.rows.first + block_x() * kTileRows, *a.rows.end, 0};
  const uint32_t n_experts = a.weight.n_mats;
  if (block_x() >= a.groups.starts[n_experts] / kTileRows + n_experts) return {};
  const uint32_t expert = a.groups.tile_experts[block_x()], start = a.groups.starts[expert];
  return {start + (block_x() - start / kTileRows - expert) * kTileRows, a.groups.starts[expert + 1],
          expert * a.weight.n_rows};
}
RZ_DEVICE uint32_t tile_expert(const LinearArgs& a) {
  return a.groups.pairs == nullptr ? 0 : a.groups.tile_experts[block_x()];
}
// Maximum number of tiles for max_rows rows.
inline uint32_t n_row_tiles(const LinearArgs& a, uint32_t max_rows) {
  return a.groups.pairs != nullptr ? max_rows / kTileRows + a.weight.n_mats : (max_rows + kTileRows - 1) / kTileRows;
}

// Finishes staged products [row, kTileCols], `n_rows` of them starting at `first_row`. row_scales: per row of
// activations; null for 1.
template <uint32_t n_threads>
RZ_DEVICE void finish_tile(const LinearArgs& a, const float* staged, uint32_t first_row, uint32_t n_rows,
                           uint32_t end_row, uint32_t first_col, const float* row_scales) {
  const float* bias = a.bias == nullptr ? nullptr : a.bias + uint64_t{tile_expert(a)} * a.bias_stride;
  RZ_NO_UNROLL
  for (uint32_t i = thread_idx(); i < n_rows * kTileCols; i += n_threads) {
    const uint32_t row = first_row + i / kTileCols, col = first_col + i % kTileCols;
    if (row >= end_row || col >= a.weight.n_rows) continue;
    float y = staged[i / kTileCols * kStagedStride + i % kTileCols];
    if (row_scales != nullptr) y *= row_scales[in_row(a, row)];
    if (a.pair_scales != nullptr) y *= a.pair_scales[out_row(a, row)];
    finish_linear(a, bias, out_row(a, row), col, y);
  }
}
