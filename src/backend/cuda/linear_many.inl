// Products of a prompt's rows: a warp makes 16 columns of the output for 32 rows, with the matrix instructions of int8.
// Each group of 32 columns is one exact integer product, scaled and added in F32 before the next: the same numbers for
// a row wherever it falls.

constexpr uint32_t kManyWarps = 4;
constexpr uint32_t kManyCols = 16;  // of the output, a warp
constexpr uint32_t kTiles = 4;      // of 8 rows each
constexpr uint32_t kManyRows = 8 * kTiles;

// A group's products for a 16 x 8 tile: of its first and of its second 16 columns where they have scales of their own,
// otherwise all in low.
template <GroupForm form>
RZ_DEVICE void multiply_tile(const uint32_t (&a)[4], const uint32_t (&b)[2], int32_t (&low)[4], int32_t (&high)[4]) {
  if constexpr (form.scales == Scales::kSuper && form.sub == 16) {
    mma_int8_k16(low, {a[0], a[1]}, b[0]);
    mma_int8_k16(high, {a[2], a[3]}, b[1]);
  } else {
    mma_int8_k32(low, a, b);
  }
}

template <class Format>
RZ_KERNEL void linear_many_kernel(LinearArgs a) {
  const uint32_t end_row = *a.rows.end, first_row = *a.rows.first + block_y() * kManyRows;
  const uint32_t first_col = (block_x() * kManyWarps + thread_idx() / 32) * kManyCols;
  if (first_row >= end_row || first_col >= a.weight.n_rows) return;
  const uint32_t lane = thread_idx() % 32, group = lane / 4, t = lane % 4, n_groups = a.weight.n_cols / kGroupCols;
  // Columns and rows beyond the last are the last again, and not written.
  const auto clamped = [](uint32_t i, uint32_t end) { return i < end ? i : end - 1; };
  const uint32_t cols[2] = {clamped(first_col + group, a.weight.n_rows),
                            clamped(first_col + group + 8, a.weight.n_rows)};
  float sums[kTiles][4] = {};
  for (uint32_t g = 0; g < n_groups; ++g) {
    uint32_t weights[4];
    for (uint32_t i = 0; i < 4; ++i) weights[i] = Format::load_word(a.weight, cols[i % 2], g, t + i / 2 * 4);
    const typename Format::GroupScales scales[2] = {Format::load_scales(a.weight, cols[0], g),
                                                    Format::load_scales(a.weight, cols[1], g)};
    for (uint32_t tile = 0; tile < kTiles; ++tile) {
      const uint64_t row = clamped(first_row + 8 * tile + group, end_row);
      const uint32_t* codes = a.quants.codes + (row * n_groups + g) * 8;
      int32_t low[4] = {}, high[4] = {};
      multiply_tile<Format::kForm>(weights, {codes[t], codes[t + 4]}, low, high);
      for (uint32_t i = 0; i < 4; ++i) {
        const uint64_t at = uint64_t{clamped(first_row + 8 * tile + 2 * t + i % 2, end_row)} * n_groups + g;
        const float value = Format::scaled(scales[i / 2], low[i], high[i], a.quants.halves[at]);
        sums[tile][i] = fmaf(a.quants.scales[at], value, sums[tile][i]);
      }
    }
  }
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = first_row + 8 * tile + 2 * t + i % 2, col = first_col + group + 8 * (i / 2);
      if (row < end_row && col < a.weight.n_rows) finish_linear(a, row, col, sums[tile][i]);
    }
  }
}

void linear_many(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  constexpr uint32_t kCols = kManyWarps * kManyCols;
  const Grid grid{(a.weight.n_rows + kCols - 1) / kCols, (max_rows + kManyRows - 1) / kManyRows};
  with_format(a.weight.form, [&](auto format) {
    using Format = decltype(format);
    if constexpr (!Format::kIsPlain) launch(linear_many_kernel<Format>, grid, 32 * kManyWarps, a, stream);
  });
}
