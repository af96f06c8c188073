// Products of prompt rows with a matrix of F16, bf16 or F8, by the matrix instructions of the first two. Weights are
// used exactly, F8 as the F16 of the same value; an F32 activation is the sum of two such values, with an error of
// 2^-18 of it (bf16; F16: 2^-22, or 2^-40 of the row's largest). That is the operands' error alone. The sums are the
// tensor cores', in F32, and those of Hopper do not round: they truncate bits below the last place of the largest
// summand. Each of the 2 K / 16 additions may thus lose up to 2^-23 of the sum so far, half of that on average: over K
// = 14,336 columns about 1e-4 of the sum of magnitudes at most. The tests' bounds allow for it; the emulator rounds to
// nearest and does not show it. Restarting the sums every 512 columns would reduce it to 4e-6, for 64 more registers
// per lane: two blocks per multiprocessor instead of three, for a twentieth of bf16's own last place. Bound by
// arithmetic: two instructions per tile. A block computes 128 columns of the output for 64 rows, a warp 64 for 32; each
// sum runs through the columns in steps of 16, high parts before low ones. For F8 it runs through the columns that
// share a scale, and is then added to the total.

constexpr uint32_t kSplitThreads = 128;
constexpr uint32_t kSplitStages = 3;     // tiles in use or loading
constexpr uint32_t kSplitStepCols = 32;  // of the weight, per stage
constexpr uint32_t kSplitWarpCols = 64, kSplitWarpRows = 32;

// A tile of codes: rows of 32 bytes in two pieces, permuted like those of tiles.inl.
struct CodeTile {
  static constexpr uint32_t kPieces = 2;
  RZ_DEVICE static uint32_t word(uint32_t row, uint32_t piece) {
    return row * kPieces * 4 + (piece ^ (row / 4 % kPieces)) * 4;
  }
};

// The exponent, in F32 format, of the power of two that scales `largest` to [2^14, 2^15), where F16 has the most bits
// left for small values. Rows so small that this would overflow stay smaller.
RZ_DEVICE uint32_t scale_exponent(float largest) {
  const uint32_t exponent = float_bits(largest) >> 23;
  return 127 + 14 + 127 - (exponent < 15 ? 15 : exponent);
}

// One block per row.
template <class Split>
RZ_KERNEL void split_kernel(SplitArgs a) {
  RZ_SHARED(float, warps, kSplitThreads / 32);
  const uint32_t row = *a.rows.first * a.rows_each + block_x(), n_words = plain_stride(a.n_cols) / 2;
  if (row >= *a.rows.end * a.rows_each) return;
  const float* in = a.in + uint64_t{row} * a.n_cols;
  float largest = 0;
  for (uint32_t c = thread_idx(); c < a.n_cols; c += kSplitThreads) largest = fmaxf(largest, fabsf(in[c]));
  largest = warp_max(largest);
  if (thread_idx() % 32 == 0) warps[thread_idx() / 32] = largest;
  barrier();
  for (uint32_t w = 0; w < kSplitThreads / 32; ++w) largest = fmaxf(largest, warps[w]);
  const uint32_t exponent = scale_exponent(largest);
  const float scale = float_of_bits(exponent << 23);
  for (uint32_t w = thread_idx(); w < n_words; w += kSplitThreads) {
    uint32_t high = 0, low = 0;
    for (uint32_t i = 0; i < 2; ++i) {
      const float x = 2 * w + i < a.n_cols ? in[2 * w + i] * scale : 0.0f;
      const uint16_t rounded = Split::round(x);
      high |= uint32_t{rounded} << (16 * i);
      low |= uint32_t{Split::round(x - Split::value(rounded))} << (16 * i);
    }
    a.out.high[uint64_t{row} * n_words + Split::place_of(w)] = high;
    a.out.low[uint64_t{row} * n_words + Split::place_of(w)] = low;
  }
  if (thread_idx() == 0) a.out.scales[row] = float_of_bits((254 - exponent) << 23);
}

struct SplitPlace {
  uint32_t first_row, end_row, first_col;
  uint32_t first_weight;  // the expert's first row
  uint32_t own_rows[2];   // rows of activations that this thread copies

  RZ_DEVICE uint32_t weight_row(const LinearArgs& a, uint32_t col) const {
    return first_weight + clamped(first_col + col, a.weight.n_rows);
  }
};

RZ_DEVICE SplitPlace split_place(const LinearArgs& a) {
  static_assert(kTileRows * kTileRowPieces == 2 * kSplitThreads);
  const TileRows rows = tile_rows(a);
  SplitPlace p{rows.first, rows.end, block_y() * kTileCols, rows.first_weight, {}};
  if (p.first_row >= p.end_row) return p;
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t row = (i * kSplitThreads + thread_idx()) / kTileRowPieces;
    p.own_rows[i] = in_row(a, clamped(p.first_row + row, p.end_row));
  }
  return p;
}

// A stage: the weights' tile, then those of the high and of the low parts.
constexpr uint32_t kSplitStageWords = (kTileCols + 2 * kTileRows) * kTileRowWords;

template <class Split>
RZ_DEVICE void load_split_stage(const LinearArgs& a, const SplitPlace& p, uint32_t step, uint32_t* stage) {
  const uint64_t row_words = plain_stride(a.weight.n_cols) / 2, at = step * (kSplitStepCols / 2);
  uint32_t *high = stage + kTileCols * kTileRowWords, *low = high + kTileRows * kTileRowWords;
  const auto weight_row = [&](uint32_t, uint32_t row) { return uint64_t{p.weight_row(a, row)}; };
  const auto own_row = [&](uint32_t i, uint32_t) { return uint64_t{p.own_rows[i]}; };
  using WeightTile = std::conditional_t<Split::kIsF8, CodeTile, WideTile>;
  constexpr uint32_t kNarrower = WideTile::kPieces / WeightTile::kPieces;
  copy_tile<WeightTile, kTileCols, kSplitThreads>(stage, a.weight.low + at / kNarrower, row_words / kNarrower,
                                                  weight_row);
  copy_tile<WideTile, kTileRows, kSplitThreads>(high, a.splits.high + at, row_words, own_row);
  copy_tile<WideTile, kTileRows, kSplitThreads>(low, a.splits.low + at, row_words, own_row);
}

// Step k of 16 rows of weights, starting at `col`.
template <class Split>
RZ_DEVICE void load_split_weights(uint32_t (&words)[4], const uint32_t* tile, uint32_t col, uint32_t k) {
  if constexpr (!Split::kIsF8) return load_fragment(words, tile, col, k);
  const uint32_t lane = thread_idx() % 32;
  uint32_t codes[4];  // of rows g and g + 8, of step 0 and of step 1
  load_matrices(codes, tile + CodeTile::word(col + lane % 16, lane / 16));
  for (uint32_t i = 0; i < 4; ++i) words[i] = f8_to_halves(codes[2 * k + i % 2] >> (16 * (i / 2)));
}

// sums[i][j]: 16 columns times 8 rows.
template <class Split>
RZ_DEVICE void multiply_split_stage(const uint32_t* stage, uint32_t col, uint32_t row, float (&sums)[4][4][4]) {
  for (uint32_t k = 0; k < 2; ++k) {
    uint32_t weights[4][4];
    for (uint32_t i = 0; i < 4; ++i) load_split_weights<Split>(weights[i], stage, col + 16 * i, k);
    for (uint32_t part = 0; part < 2; ++part) {
      const uint32_t* tile = stage + (kTileCols + part * kTileRows) * kTileRowWords;
      for (uint32_t j = 0; j < 4; j += 2) {
        uint32_t x[4];
        load_fragment(x, tile, row + 8 * j, k);
        for (uint32_t i = 0; i < 4; ++i) {
          Split::multiply(sums[i][j], weights[i], {x[0], x[2]});
          Split::multiply(sums[i][j + 1], weights[i], {x[1], x[3]});
        }
      }
    }
  }
}

// scaled += scale * sums, for 64 output columns from `col` on; `at`: a column of the weight with these scales.
RZ_DEVICE void add_scaled(const LinearArgs& a, const SplitPlace& p, uint32_t col, uint32_t at, float (&sums)[4][4][4],
                          float (&scaled)[4][4][4]) {
  RZ_UNROLL for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = p.weight_row(a, col + 16 * i + thread_idx() % 32 / 4 + 8 * half);
      const float scale = PlainFormat<TypeId::kF8_E4M3>::scale(a.weight, row, at);
      for (uint32_t j = 0; j < 4; ++j) {
        for (uint32_t k = 2 * half; k < 2 * half + 2; ++k) {
          scaled[i][j][k] = fmaf(scale, sums[i][j][k], scaled[i][j][k]);
          sums[i][j][k] = 0;
        }
      }
    }
  }
}

template <class Split>
RZ_KERNEL void linear_split_kernel(LinearArgs a) {
  RZ_SHARED(uint32_t, stages, kSplitStages * kSplitStageWords);
  const SplitPlace p = split_place(a);
  if (p.first_row >= p.end_row) return;
  const uint32_t warp = thread_idx() / 32;
  const uint32_t col = warp / 2 * kSplitWarpCols, row = warp % 2 * kSplitWarpRows;
  const uint32_t n_steps = plain_stride(a.weight.n_cols) / kSplitStepCols;
  float sums[4][4][4] = {}, scaled[4][4][4] = {};
  for (uint32_t step = 0; step < kSplitStages - 1; ++step) {
    if (step < n_steps) load_split_stage<Split>(a, p, step, stages + step * kSplitStageWords);
    commit_copies();
  }
  for (uint32_t step = 0; step < n_steps; ++step) {
    wait_for_copies<kSplitStages - 2>();
    barrier();  // all have their part of this stage, and are done with the previous one, which the next copies replace
    const uint32_t next = step + kSplitStages - 1;
    if (next < n_steps) load_split_stage<Split>(a, p, next, stages + next % kSplitStages * kSplitStageWords);
    commit_copies();
    multiply_split_stage<Split>(stages + step % kSplitStages * kSplitStageWords, col, row, sums);
    constexpr uint32_t kScaleSteps = kF8ScaleCols / kSplitStepCols;
    if (Split::kIsF8 && ((step + 1) % kScaleSteps == 0 || step + 1 == n_steps)) {
      add_scaled(a, p, col, step * kSplitStepCols, sums, scaled);
    }
  }
  wait_for_copies<0>();
  barrier();
  auto* staged = reinterpret_cast<float*>(stages);
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t j = 0; j < 4; ++j)
      stage_results(Split::kIsF8 ? scaled[i][j] : sums[i][j], staged, row + 8 * j, col + 16 * i);
  }
  barrier();
  finish_tile<kSplitThreads>(a, staged, p.first_row, kTileRows, p.end_row, p.first_col, a.splits.scales);
}

void split(const SplitArgs& a, uint32_t max_rows, Stream stream) {
  with_split(a.type, [&](auto split) {
    launch(split_kernel<decltype(split)>, {max_rows * a.rows_each, 1}, kSplitThreads, a, stream);
  });
}

// Rows vary fastest, so that concurrent blocks share their weights in the cache.
void linear_split(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{n_row_tiles(a, max_rows), (a.weight.n_rows + kTileCols - 1) / kTileCols};
  with_split(a.weight.type,
             [&](auto split) { launch(linear_split_kernel<decltype(split)>, grid, kSplitThreads, a, stream); });
}
