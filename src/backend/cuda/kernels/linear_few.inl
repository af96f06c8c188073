// Products of some decode rows with a matrix of a group type: the sums of dots.inl, with the weights read once for up
// to 32 rows (16 in types whose groups have halves). A block computes 16 columns of the output; each of its eight warps
// processes the groups of one quad there, four of each chunk, with the int8 matrix instructions, and so computes that
// quad's sums. Until the end a warp works alone in its own part of shared memory. Bound by instructions: for Q4_K about
// 5 per weight for up to 8 rows and 2.5 for each 8 more, by the compiler's listing, of the 3.9 in which an H200 loads
// it from memory.

constexpr uint32_t kFewWarps = 8;
constexpr uint32_t kFewCols = 16;
constexpr uint32_t kFewGroups = kChunkGroups / kFewWarps;     // per chunk and warp
constexpr uint32_t kFewTileWords = kFewCols * kTileRowWords;  // for two groups
constexpr uint32_t kFewWords = kFewGroups / 2 * kFewTileWords;
static_assert(kFewGroups == 4 && kFewTileWords == 256);
static_assert(kChunkGroups * kGroupCols <= kMoreCodeBytes);

// A warp's part of shared memory.
template <class Format, int kTiles>
struct FewShared {
  static constexpr uint32_t kColScales = Format::kScales * kFewCols, kRowScales = (1 + Format::kSums) * 8 * kTiles;
  static constexpr uint32_t kScales = kFewGroups * (kColScales + kRowScales);
  uint32_t* codes;  // [kFewGroups / 2] tiles of the weights
  float* scales;    // of the weights [group, kColScales], then of the activations [group, kRowScales]

  RZ_DEVICE uint32_t* tile(uint32_t group) const { return codes + group / 2 * kFewTileWords; }
  RZ_DEVICE float* col_scales(uint32_t group) const { return scales + group * kColScales; }
  RZ_DEVICE float* row_scales(uint32_t group) const { return scales + kFewGroups * kColScales + group * kRowScales; }
};

struct FewPlace {
  uint32_t first_row, end_row, first_col, first_group;  // of the warp, in a chunk
};

// A lane's groups of a chunk: one of a column, and one of the column plus 8.
template <class Format>
struct FewPart {
  typename Format::Stored weight[2];
};

template <class Format>
RZ_DEVICE FewPart<Format> load_few_part(const Matrix& m, const FewPlace& p, uint32_t chunk) {
  const uint32_t lane = thread_idx() % 32;
  const uint32_t g = clamped(chunk + p.first_group + lane % kFewGroups, m.n_cols / kGroupCols);
  FewPart<Format> part;
  for (uint32_t i = 0; i < 2; ++i) {
    part.weight[i] = Format::load(m, clamped(p.first_col + lane / kFewGroups + 8 * i, m.n_rows), g);
  }
  return part;
}

template <class Format, int kTiles>
RZ_DEVICE void store_few_part(const FewPart<Format>& part, const FewShared<Format, kTiles>& shared) {
  const uint32_t lane = thread_idx() % 32, group = lane % kFewGroups;
  for (uint32_t i = 0; i < 2; ++i) {
    store_group<Format>(part.weight[i], shared.tile(group), lane / kFewGroups + 8 * i, group % 2,
                        shared.col_scales(group), kFewCols);
  }
}

template <class Format, int kTiles>
RZ_DEVICE void store_few_row_scales(const LinearArgs& a, const FewPlace& p, uint32_t chunk,
                                    const FewShared<Format, kTiles>& shared) {
  const uint32_t lane = thread_idx() % 32, group = lane % kFewGroups, n_groups = a.weight.n_cols / kGroupCols;
  const uint32_t chunk_g = chunk + p.first_group + group, g = clamped(chunk_g, n_groups);
  for (uint32_t i = 0; i < kTiles; ++i) {
    const uint32_t row = 8 * i + lane / kFewGroups;
    const uint64_t at = uint64_t{clamped(p.first_row + row, p.end_row)} * n_groups + g;
    const float scale = chunk_g < n_groups ? a.quants.scales[at] : 0.0f;
    store_row_scale<Format>(scale, Format::kSums > 0 ? a.quants.halves[at] : 0, shared.row_scales(group), row,
                            8 * kTiles);
  }
}

// sums[tile] += the warp's groups of the chunk, added like a quad: (0 + 1) + (2 + 3). Groups beyond the last have a
// scale of zero, and any bytes after the row as codes.
template <class Format, int kTiles>
RZ_DEVICE void multiply_few_chunk(const LinearArgs& a, const FewPlace& p, uint32_t chunk,
                                  const FewShared<Format, kTiles>& shared, float (&sums)[kTiles][4]) {
  const uint32_t lane = thread_idx() % 32, n_groups = a.weight.n_cols / kGroupCols;
  GroupCols<Format> cols[kFewGroups];
  for (uint32_t j = 0; j < kFewGroups; ++j) {
    cols[j] = load_group_cols<Format>(shared.tile(j), 0, j % 2, shared.col_scales(j), kFewCols);
  }
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    if (p.first_row + 8 * tile >= p.end_row) break;
    const uint64_t row = clamped(p.first_row + 8 * tile + lane / 4, p.end_row);
    const uint32_t* codes = a.quants.codes + (row * n_groups + chunk + p.first_group) * 8 + lane % 4;
    float products[kFewGroups][4];
    for (uint32_t j = 0; j < kFewGroups; ++j) {
      GroupRows<Format> rows{{codes[8 * j], codes[8 * j + 4]}, {}};
      load_group_row_scales(rows, shared.row_scales(j), 8 * tile, 8 * kTiles);
      multiply_group(cols[j], rows, products[j]);
      for (uint32_t e = 0; e < 4; ++e) products[j][e] *= rows.scales[0].value[e % 2];
    }
    for (uint32_t e = 0; e < 4; ++e) {
      sums[tile][e] += (products[0][e] + products[1][e]) + (products[2][e] + products[3][e]);
    }
  }
}

// Adds one number of each warp in [warp, kStride], in the order of the butterfly over quads in dots.inl.
template <uint32_t kStride>
RZ_DEVICE float merge_warps(const float* parts) {
  float sums[kFewWarps];
  for (uint32_t w = 0; w < kFewWarps; ++w) sums[w] = parts[w * kStride];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class Format, int kTiles>
RZ_KERNEL_WITHIN(32 * kFewWarps, 2)
void linear_few_kernel(LinearArgs a) {
  using Shared = FewShared<Format, kTiles>;
  RZ_SHARED(uint32_t, codes, kFewWarps * kFewWords);
  RZ_SHARED(float, scales, kFewWarps* Shared::kScales);
  const uint32_t warp = thread_idx() / 32, lane = thread_idx() % 32;
  const PartPlace part = find_part<kFewCols>(a);
  select_weight(a, part.part);
  const FewPlace p{*a.rows.first + block_x() * 8 * kTiles, *a.rows.end, part.block * kFewCols, warp * kFewGroups};
  if (p.first_row >= p.end_row) return;
  const Shared shared{codes + warp * kFewWords, scales + warp * Shared::kScales};
  const uint32_t n_groups = a.weight.n_cols / kGroupCols;
  float sums[kTiles][4] = {};
  FewPart<Format> next = load_few_part<Format>(a.weight, p, 0);
  for (uint32_t chunk = 0; chunk < n_groups; chunk += kChunkGroups) {
    store_few_part(next, shared);
    if (chunk + kChunkGroups < n_groups) next = load_few_part<Format>(a.weight, p, chunk + kChunkGroups);
    store_few_row_scales(a, p, chunk, shared);
    warp_barrier();
    multiply_few_chunk(a, p, chunk, shared, sums);
    warp_barrier();  // before the next chunk replaces this one
  }
  auto* parts = reinterpret_cast<float*>(codes);
  constexpr uint32_t kTileFloats = 8 * kFewCols;
  static_assert(kTiles * kTileFloats <= kFewWords);
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    for (uint32_t e = 0; e < 4; ++e) {
      const uint32_t row = lane % 4 * 2 + e % 2, col = lane / 4 + e / 2 * 8;
      parts[warp * kFewWords + tile * kTileFloats + row * kFewCols + col] = sums[tile][e];
    }
  }
  barrier();
  select_out(a, part.part);
  RZ_NO_UNROLL
  for (uint32_t i = thread_idx(); i < kTiles * kTileFloats; i += 32 * kFewWarps) {
    const uint32_t row = p.first_row + i / kFewCols, col = p.first_col + i % kFewCols;
    if (row < p.end_row && col < a.weight.n_rows) finish_linear(a, a.bias, row, col, merge_warps<kFewWords>(parts + i));
  }
}

template <class Format, int kTiles>
void launch_few(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{(max_rows + 8 * kTiles - 1) / (8 * kTiles), n_part_blocks<kFewCols>(a)};
  launch(linear_few_kernel<Format, kTiles>, grid, 32 * kFewWarps, a, stream);
}

void linear_few(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.weight.type, [&](auto format) {
    using Format = decltype(format);
    if constexpr (Format::kHasGroups) {
      // Scales of halves use the registers for the sums of more rows.
      constexpr int kTiles = Format::kHasHalves ? 2 : 4;
      (max_rows <= 8 ? launch_few<Format, 1> : launch_few<Format, kTiles>)(a, max_rows, stream);
    }
  });
}
