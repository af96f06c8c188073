// Groups of 32 columns in shared memory, for the int8 matrix instructions: a group is half a row of a tile. For each
// group there are also the weights' scales [kScales, column] and the activations' [1 + kSums, row]: their scale, then
// the sums of their codes that Format::scaled needs.

struct alignas(8) FloatPair {
  float value[2];
};

// Stores weight row `col` of the tile.
template <class Format>
RZ_DEVICE void store_group(const typename Format::Stored& stored, uint32_t* tile, uint32_t col, uint32_t k,
                           float* scales, uint32_t n_cols) {
  int32_t words[8];
  Format::codes(stored, words);
  for (uint32_t half = 0; half < 2; ++half) {
    Words4 piece;
    for (uint32_t i = 0; i < 4; ++i) piece.word[i] = static_cast<uint32_t>(words[4 * half + i]);
    *reinterpret_cast<Words4*>(tile + tile_word(col, 2 * k + half)) = piece;
  }
  const typename Format::GroupScales s = Format::group_scales(stored);
  for (uint32_t i = 0; i < Format::kScales; ++i) scales[i * n_cols + col] = s.value[i];
}

template <class Format>
RZ_DEVICE void store_row_scale(float scale, int32_t halves, float* scales, uint32_t row, uint32_t n_rows) {
  scales[row] = scale;
  const int32_t first = first_half(halves), second = second_half(halves);
  if constexpr (Format::kSums == 1) scales[n_rows + row] = static_cast<float>(first + second);
  if constexpr (Format::kSums == 2) {
    scales[n_rows + row] = static_cast<float>(first);
    scales[2 * n_rows + row] = static_cast<float>(second);
  }
}

// A lane's operands for 16 columns: fragments, and the scales of its columns.
template <class Format>
struct GroupCols {
  uint32_t words[4];
  typename Format::GroupScales scales[2];
};

template <class Format>
RZ_DEVICE GroupCols<Format> load_group_cols(const uint32_t* tile, uint32_t col, uint32_t k, const float* scales,
                                            uint32_t n_cols) {
  GroupCols<Format> g;
  load_fragment(g.words, tile, col, k);
  for (uint32_t h = 0; h < 2; ++h) {
    const float* from = scales + col + 8 * h + thread_idx() % 32 / 4;
    for (uint32_t i = 0; i < Format::kScales; ++i) g.scales[h].value[i] = from[i * n_cols];
  }
  return g;
}

// A lane's operands for 8 rows: those of its two results.
template <class Format>
struct GroupRows {
  uint32_t words[2];
  FloatPair scales[1 + Format::kSums];
};

template <class Format>
RZ_DEVICE void load_group_row_scales(GroupRows<Format>& g, const float* scales, uint32_t row, uint32_t n_rows) {
  for (uint32_t i = 0; i < 1 + Format::kSums; ++i) {
    g.scales[i] = *reinterpret_cast<const FloatPair*>(scales + i * n_rows + row + thread_idx() % 4 * 2);
  }
}

// A lane's products of 16 columns with 8 rows, without the activations' scales.
template <class Format>
RZ_DEVICE void multiply_group(const GroupCols<Format>& cols, const GroupRows<Format>& rows, float (&y)[4]) {
  int32_t first[4], second[4] = {};
  if constexpr (Format::kHasHalves) {
    mma_int8_k16(first, {cols.words[0], cols.words[1]}, rows.words[0], kSumStart);
    mma_int8_k16(second, {cols.words[2], cols.words[3]}, rows.words[1], kSumStart);
  } else {
    mma_int8_k32(first, cols.words, rows.words, kSumStart);
  }
  constexpr uint32_t kFirst = Format::kSums > 0 ? 1 : 0, kSecond = Format::kSums > 1 ? 2 : 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const float other = Format::kHasHalves ? float_of_sum(second[i]) : 0;
    y[i] = Format::scaled(cols.scales[i / 2], float_of_sum(first[i]), other, rows.scales[kFirst].value[i % 2],
                          rows.scales[kSecond].value[i % 2]);
  }
}
