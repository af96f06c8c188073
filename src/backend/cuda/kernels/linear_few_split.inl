// Products of decode rows with a matrix of F16, bf16 or F8, by the matrix instructions of the first two; activations
// are sums of two such values, as in linear_split.inl. A block computes 16 or 32 columns of the output; its eight warps
// share the columns of the weight, 64 at a time, and add their sums at the end. Lane 4 g + t reads 8 consecutive
// columns of the weight's rows g and g + 8, and of row g of the activations: the instruction adds up all columns, so
// their order is free if both operands agree. The order of a sum depends only on the weight's shape, so that a row has
// the same bits in every batch. Bound by memory: weights are loaded directly, one step ahead.

constexpr uint32_t kFewSplitStep = 2;  // in units of 32 columns

struct FewSplitPlace {
  uint32_t first_row, end_row, first_col, n_chunks;  // chunks: of 32 columns
};

// A lane's weights for a step, [chunk, tile of 16 columns, row g and g + 8].
template <class Split, int kColTiles>
struct FewSplitWeights {
  using Words = std::conditional_t<Split::kIsF8, Words2, Words4>;
  Words words[kFewSplitStep][kColTiles][2];
};

RZ_DEVICE void load_few_split_words(const uint32_t* from, Words2& words) {
  words = load_words2(from);
}
RZ_DEVICE void load_few_split_words(const uint32_t* from, Words4& words) {
  words = load_words4(from);
}

// Chunks beyond the last repeat it, and are not used.
template <class Split, int kColTiles>
RZ_DEVICE void load_few_split(const Matrix& m, const FewSplitPlace& p, uint32_t chunk,
                              FewSplitWeights<Split, kColTiles>& weights) {
  constexpr uint32_t kChunkWords = Split::kIsF8 ? 8 : 16;
  const uint32_t lane = thread_idx() % 32;
  RZ_UNROLL for (uint32_t tile = 0; tile < kColTiles; ++tile) {
    for (uint32_t half = 0; half < 2; ++half) {
      const uint64_t row = clamped(p.first_col + 16 * tile + 8 * half + lane / 4, m.n_rows);
      const uint32_t* words = m.low + row * p.n_chunks * kChunkWords + lane % 4 * (kChunkWords / 4);
      for (uint32_t i = 0; i < kFewSplitStep; ++i) {
        load_few_split_words(words + clamped(chunk + i, p.n_chunks) * kChunkWords, weights.words[i][tile][half]);
      }
    }
  }
}

// The pairs of columns that a lane passes to one of the two instructions of a chunk.
RZ_DEVICE void weight_pairs(const Words4& words, uint32_t step, uint32_t (&pairs)[2]) {
  for (uint32_t i = 0; i < 2; ++i) pairs[i] = words.word[2 * step + i];
}
RZ_DEVICE void weight_pairs(const Words2& codes, uint32_t step, uint32_t (&pairs)[2]) {
  for (uint32_t i = 0; i < 2; ++i) pairs[i] = f8_to_halves(codes.word[step] >> (16 * i));
}
// The pairs of columns of an activation for both instructions. `words`: its 32 columns.
template <class Split>
RZ_DEVICE void load_row_pairs(const uint32_t* words, uint32_t (&pairs)[2][2]) {
  const uint32_t t = thread_idx() % 4;
  if constexpr (Split::kIsF8) {
    const uint32_t* own = words + t / 2 * 8 + t % 2 * 2;
    const Words2 first = load_words2(own), second = load_words2(own + 4);
    for (uint32_t step = 0; step < 2; ++step) {
      pairs[step][0] = first.word[step];
      pairs[step][1] = second.word[step];
    }
  } else {
    const Words4 own = load_words4(words + 4 * t);
    for (uint32_t step = 0; step < 2; ++step) {
      for (uint32_t i = 0; i < 2; ++i) pairs[step][i] = own.word[2 * step + i];
    }
  }
}

// sums[tile of columns][tile of rows] += a chunk's products.
template <class Split, int kColTiles, int kRowTiles>
RZ_DEVICE void multiply_few_split(const LinearArgs& a, const FewSplitPlace& p, uint32_t chunk,
                                  const typename FewSplitWeights<Split, kColTiles>::Words (&weights)[kColTiles][2],
                                  float (&sums)[kColTiles][kRowTiles][4]) {
  uint32_t operands[2][kColTiles][4];
  RZ_UNROLL for (uint32_t tile = 0; tile < kColTiles; ++tile) {
    for (uint32_t step = 0; step < 2; ++step) {
      uint32_t pairs[2][2];
      for (uint32_t half = 0; half < 2; ++half) weight_pairs(weights[tile][half], step, pairs[half]);
      for (uint32_t i = 0; i < 4; ++i) operands[step][tile][i] = pairs[i % 2][i / 2];
    }
  }
  RZ_UNROLL for (uint32_t tile = 0; tile < kRowTiles; ++tile) {
    if (p.first_row + 8 * tile >= p.end_row) break;
    const uint64_t row = clamped(p.first_row + 8 * tile + thread_idx() % 32 / 4, p.end_row);
    for (const uint32_t* part : {a.splits.high, a.splits.low}) {
      uint32_t pairs[2][2];
      load_row_pairs<Split>(part + (row * p.n_chunks + chunk) * 16, pairs);
      for (uint32_t step = 0; step < 2; ++step) {
        for (uint32_t i = 0; i < kColTiles; ++i) Split::multiply(sums[i][tile], operands[step][i], pairs[step]);
      }
    }
  }
}

// Adds a step of F8, whose columns share a scale.
template <int kColTiles, int kRowTiles>
RZ_DEVICE void add_scaled_step(const LinearArgs& a, const FewSplitPlace& p, uint32_t chunk,
                               const float (&own)[kColTiles][kRowTiles][4], float (&sums)[kColTiles][kRowTiles][4]) {
  static_assert(kF8ScaleCols % (32 * kFewSplitStep) == 0);
  RZ_UNROLL for (uint32_t i = 0; i < kColTiles; ++i) {
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = clamped(p.first_col + 16 * i + 8 * half + thread_idx() % 32 / 4, a.weight.n_rows);
      const float scale = PlainFormat<TypeId::kF8_E4M3>::scale(a.weight, row, 32 * chunk);
      for (uint32_t j = 0; j < kRowTiles; ++j) {
        for (uint32_t e = 2 * half; e < 2 * half + 2; ++e) sums[i][j][e] = fmaf(scale, own[i][j][e], sums[i][j][e]);
      }
    }
  }
}

template <class Split, int kColTiles, int kRowTiles>
RZ_KERNEL_WITHIN(32 * kFewWarps, 2)
void linear_few_split_kernel(LinearArgs a) {
  constexpr uint32_t kCols = 16 * kColTiles, kRows = 8 * kRowTiles, kStep = kFewSplitStep * kFewWarps;
  RZ_SHARED(float, parts, kFewWarps* kCols* kRows);
  const uint32_t warp = thread_idx() / 32, lane = thread_idx() % 32;
  const PartPlace part = find_part<kCols>(a);
  select_weight(a, part.part);
  const FewSplitPlace p{*a.rows.first + block_x() * kRows, *a.rows.end, part.block * kCols,
                        plain_stride(a.weight.n_cols) / 32};
  if (p.first_row >= p.end_row) return;
  FewSplitWeights<Split, kColTiles> next;
  load_few_split<Split, kColTiles>(a.weight, p, warp * kFewSplitStep, next);
  float sums[kColTiles][kRowTiles][4] = {};
  for (uint32_t chunk = warp * kFewSplitStep; chunk < p.n_chunks; chunk += kStep) {
    const FewSplitWeights<Split, kColTiles> weights = next;
    if (chunk + kStep < p.n_chunks) load_few_split<Split, kColTiles>(a.weight, p, chunk + kStep, next);
    float scaled[kColTiles][kRowTiles][4] = {};
    RZ_UNROLL for (uint32_t i = 0; i < kFewSplitStep; ++i) {
      if (chunk + i >= p.n_chunks) break;
      multiply_few_split<Split, kColTiles, kRowTiles>(a, p, chunk + i, weights.words[i], Split::kIsF8 ? scaled : sums);
    }
    if constexpr (Split::kIsF8) add_scaled_step(a, p, chunk, scaled, sums);
  }
  for (uint32_t i = 0; i < kColTiles; ++i) {
    for (uint32_t j = 0; j < kRowTiles; ++j) {
      for (uint32_t e = 0; e < 4; ++e) {
        const uint32_t row = 8 * j + lane % 4 * 2 + e % 2, col = 16 * i + lane / 4 + e / 2 * 8;
        parts[(warp * kRows + row) * kCols + col] = sums[i][j][e];
      }
    }
  }
  barrier();
  select_out(a, part.part);
  RZ_NO_UNROLL
  for (uint32_t i = thread_idx(); i < kRows * kCols; i += 32 * kFewWarps) {
    const uint32_t row = p.first_row + i / kCols, col = p.first_col + i % kCols;
    if (row >= p.end_row || col >= a.weight.n_rows) continue;
    finish_linear(a, a.bias, row, col, merge_warps<kRows * kCols>(parts + i) * a.splits.scales[row]);
  }
}

template <class Split, int kColTiles, int kRowTiles>
void launch_few_split(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{(max_rows + 8 * kRowTiles - 1) / (8 * kRowTiles), n_part_blocks<16 * kColTiles>(a)};
  launch(linear_few_split_kernel<Split, kColTiles, kRowTiles>, grid, 32 * kFewWarps, a, stream);
}

void linear_few_split(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  with_split(a.weight.type, [&](auto split) {
    using Split = decltype(split);
    // More would exceed the registers that some GPUs have for two blocks; F8's scaled sums need theirs.
    constexpr int kColTiles = Split::kIsF8 ? 1 : 2;
    const auto launch_rows = max_rows <= 8 ? launch_few_split<Split, 1, 1> : launch_few_split<Split, kColTiles, 2>;
    launch_rows(a, max_rows, stream);
  });
}
