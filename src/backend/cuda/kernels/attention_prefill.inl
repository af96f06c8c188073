// Attention of prompt rows: a block has up to 64 lines of a tile of one sequence's rows, a line being a row and one of
// the query heads of a KV head, 16 lines per warp, and one cut of its context. Bound by arithmetic: tiles of keys and
// values pass through shared memory, the next one loading while one is multiplied, and every product is computed twice,
// for the high and the low halves of queries and weights. Tiles of positions begin at multiples of their size, in
// ascending order; a tile that a line does not attend to leaves its bits unchanged, so neither the line's index nor its
// neighbours matter.

constexpr uint32_t kPrefillThreads = 128;
constexpr uint32_t kMergeThreads = 64;
// Heads of more than 128 dimensions do not fit a warp's registers: two warps share the lines, each with half of them.
template <uint32_t kDim>
constexpr uint32_t kSlices = kDim > 128 ? 2 : 1;
template <uint32_t kDim>
constexpr bool kIsSliced = kDim > 128;
template <uint32_t kDim>
constexpr uint32_t kBlockLines = 64 / kSlices<kDim>;
template <uint32_t kDim>
constexpr uint32_t kTilePositions = 4096 / kDim;  // 8 KiB of keys, and of values

// A block's work: `n_lines` lines of a tile, n_rep per row.
struct PrefillPlace {
  uint32_t kv_head, n_rep;
  uint32_t first_row, first_line, n_lines;
  uint32_t cut;                 // in the context
  uint32_t first_pos, end_pos;  // positions of it visible to any of the lines
  const int32_t* blocks;

  RZ_DEVICE uint32_t row(uint32_t line) const { return first_row + (first_line + line) / n_rep; }
  RZ_DEVICE uint32_t head(uint32_t line) const { return kv_head * n_rep + (first_line + line) % n_rep; }
};

// n_lines is 0 if the block is idle, and end_pos at most first_pos if the context has no such cut.
RZ_DEVICE PrefillPlace prefill_place(const AttentionArgs& a, uint32_t block_lines) {
  PrefillPlace p{};
  p.n_rep = a.op.n_heads / a.cache.n_kv_heads;
  const uint32_t n_parts = (kPromptTileRows * p.n_rep + block_lines - 1) / block_lines;
  const PromptTile tile = a.step.tiles[a.first_tile + block_x() / a.n_cuts];
  p.kv_head = block_y() / n_parts;
  p.first_row = tile.first_row;
  p.first_line = block_y() % n_parts * block_lines;
  const uint32_t n_all = tile.n_rows * p.n_rep;
  if (p.first_line >= n_all) return p;
  p.n_lines = n_all - p.first_line < block_lines ? n_all - p.first_line : block_lines;
  const uint32_t first_seen = first_visible(static_cast<uint32_t>(a.step.positions[p.row(0)]), a.window);
  const uint32_t end_seen = last_seen(a, p.row(p.n_lines - 1)) + 1;
  p.cut = PromptCuts::of(first_seen) + block_x() % a.n_cuts;
  const Positions range{PromptCuts::begin(p.cut), PromptCuts::begin(p.cut + 1)};
  p.first_pos = range.first > first_seen ? range.first : first_seen;
  p.end_pos = range.end < end_seen ? range.end : end_seen;
  p.blocks = a.step.block_tables + uint64_t{tile.seq} * a.step.max_blocks;
  return p;
}

// A tile in shared memory: chunks of 8 elements, [positions, kDim / 8]. The 8 lanes that are served together read from
// different banks: positions 2i and 2i + 1 at chunks 0 to 3, and positions 2t at chunks c and c + 1.
template <uint32_t kDim>
RZ_DEVICE uint32_t chunk_at(uint32_t pos, uint32_t c) {
  return pos * (kDim / 8) + (c ^ (4 * (pos & 1)) ^ (2 * (pos / 2 & 3)));
}
template <uint32_t kDim>
struct KvTile {
  Words4 *keys, *values;
  uint32_t *key_scales, *value_scales;  // [positions, kDim / 64] pairs

  RZ_DEVICE float key_scale(uint32_t pos, uint32_t group) const { return scale(key_scales, pos, group); }
  RZ_DEVICE float value_scale(uint32_t pos, uint32_t group) const { return scale(value_scales, pos, group); }
  RZ_DEVICE static float scale(const uint32_t* scales, uint32_t pos, uint32_t group) {
    return half_to_float(static_cast<uint16_t>(scales[pos * (kDim / 64) + group / 2] >> (16 * (group % 2))));
  }
};

// Converts codes to halves while loading.
template <class Kv, uint32_t kDim>
RZ_DEVICE void fill_tile(const KvView& cache, const KvPlace* places, const KvTile<kDim>& tile) {
  using Chunks = ChunksOf<Kv>;
  for (uint32_t i = thread_idx(); i < kTilePositions<kDim> * kDim / 8; i += kPrefillThreads) {
    const uint32_t pos = i / (kDim / 8), c = i % (kDim / 8), to = chunk_at<kDim>(pos, c);
    const uint8_t* keys = kv_row(cache, cache.keys, places[pos]);
    const uint8_t* values = kv_row(cache, cache.values, places[pos]);
    if constexpr (!Chunks::kIsStored) {
      tile.keys[to] = Chunks::keys(Chunks::load_keys(cache, keys, c));
      tile.values[to] = Chunks::values(Chunks::load_values(cache, values, c));
    } else if (16 * c < cache.row_bytes) {
      copy_async16(tile.keys + to, keys + 16 * c);
      copy_async16(tile.values + to, values + 16 * c);
    } else {
      tile.keys[to] = tile.values[to] = {};
    }
  }
  if constexpr (Kv::kHasScales) {
    for (uint32_t i = thread_idx(); i < kTilePositions<kDim> * kDim / 64; i += kPrefillThreads) {
      const KvPlace& place = places[i / (kDim / 64)];
      const uint32_t w = i % (kDim / 64);
      tile.key_scales[i] = reinterpret_cast<const uint32_t*>(kv_scales(cache, cache.keys, place))[w];
      tile.value_scales[i] = reinterpret_cast<const uint32_t*>(kv_scales(cache, cache.values, place))[w];
    }
  }
  commit_copies();
}

// Destination of a line's result: the output, or partial results if the line has several cuts.
struct LineOut {
  float* to;  // null: no such line, or it attends to nothing in the cut
  bool is_partial;
};

struct LinePlace {
  const float* q;
  LineOut out;
  uint32_t first_pos, end_pos;  // of the cut, clipped to the line's range
  Slope slope;
};

RZ_DEVICE uint64_t partial_at(const AttentionArgs& a, uint32_t row, uint32_t head, uint32_t cut) {
  return ((uint64_t{row - a.first_row} * a.op.n_heads + head) * a.n_cuts + cut) * (dim_class(a.op.value_dim()) + 2);
}

RZ_DEVICE LinePlace line_place(const AttentionArgs& a, const PrefillPlace& p, uint32_t line) {
  LinePlace result{};
  if (line >= p.n_lines) return result;
  const uint32_t row = p.row(line), head = p.head(line);
  const auto pos = static_cast<uint32_t>(a.step.positions[row]);
  const uint32_t first_seen = first_visible(pos, a.window), end_seen = last_seen(a, row) + 1;
  result.first_pos = p.first_pos > first_seen ? p.first_pos : first_seen;
  result.end_pos = p.end_pos < end_seen ? p.end_pos : end_seen;
  if (result.first_pos >= result.end_pos) return result;
  result.slope = slope_of(a, row, head);
  const uint64_t at = (uint64_t{row} * a.op.n_heads + head) * a.cache.head_dim;
  result.q = a.q + at;
  result.out.is_partial = n_cuts_between<PromptCuts>(first_seen, end_seen - 1) > 1;
  result.out.to =
      result.out.is_partial ? a.partials + partial_at(a, row, head, p.cut - PromptCuts::of(first_seen)) : a.out + at;
  return result;
}

template <class Keys, uint32_t kSteps>
RZ_DEVICE void load_lines(const AttentionArgs& a, const PrefillPlace& p, uint32_t first_line, uint32_t first_dim,
                          uint32_t t, AttentionLine (&lines)[2], QueryFragments<kSteps>& fragments) {
  const uint32_t head_dim = a.cache.head_dim;
  RZ_UNROLL for (uint32_t i = 0; i < 2; ++i) {
    const LinePlace place = line_place(a, p, first_line + 8 * i);
    const float* q = place.q;
    float max = 0;
    for (uint32_t d = t; q != nullptr && d < head_dim; d += 4) max = fmaxf(max, fabsf(q[d]));
    const PowerOfTwo scale = query_scale(quad_max(max));
    lines[i] = {place.first_pos, place.end_pos, scale.down * a.op.scale, -INFINITY, 0, place.slope};
    RZ_UNROLL for (uint32_t step = 0; step < kSteps; ++step) {
      const uint32_t dim = first_dim + step / 2 * 32 + 8 * t + step % 2 * 4;
      float x[4];
      for (uint32_t j = 0; j < 4; ++j) x[j] = q != nullptr && dim + j < head_dim ? q[dim + j] * scale.up : 0.0f;
      for (uint32_t j = 0; j < 2; ++j) {
        const Pairs pairs = Keys::split(x[2 * j], x[2 * j + 1]);
        fragments.high[step][2 * j + i] = pairs.high;
        fragments.low[step][2 * j + i] = pairs.low;
      }
    }
  }
}

// Whether any position is visible to any of the warp's lines. Skipping other tiles only saves time.
RZ_DEVICE bool warp_sees(const AttentionLine (&lines)[2], uint32_t first_pos, uint32_t n_pos) {
  const auto sees = [&](const AttentionLine& l) { return l.first_pos < first_pos + n_pos && l.end_pos > first_pos; };
  return warp_max(sees(lines[0]) || sees(lines[1]) ? 1.0f : 0.0f) > 0;
}

// Sums of products of the warp's lines and a tile's keys, over its slice of the dimensions.
template <class Kv, uint32_t kDim>
RZ_DEVICE void multiply_keys(const KvTile<kDim>& tile, const QueryFragments<kDim / kSlices<kDim> / 16>& queries,
                             uint32_t slice, uint32_t lane, float (&sums)[kTilePositions<kDim> / 8][4]) {
  using Keys = typename ChunksOf<Kv>::Keys;
  constexpr uint32_t kBlocks = kDim / kSlices<kDim> / 32;
  const uint32_t g = lane / 4, t = lane % 4;
  RZ_UNROLL for (uint32_t block = 0; block < kBlocks; ++block) {
    for (uint32_t n = 0; n < kTilePositions<kDim> / 8; ++n) {
      const uint32_t group = slice * kBlocks + block;
      const Words4 keys = tile.keys[chunk_at<kDim>(8 * n + g, 4 * group + t)];
      float own[4] = {};
      float(&to)[4] = Kv::kHasScales ? own : sums[n];
      for (uint32_t half = 0; half < 2; ++half) {
        Keys::multiply(to, queries.high[2 * block + half], {keys.word[2 * half], keys.word[2 * half + 1]});
        Keys::multiply(to, queries.low[2 * block + half], {keys.word[2 * half], keys.word[2 * half + 1]});
      }
      if constexpr (Kv::kHasScales) {
        for (uint32_t i = 0; i < 4; ++i) {
          sums[n][i] = fmaf(tile.key_scale(8 * n + 2 * t + i % 2, group), own[i], sums[n][i]);
        }
      }
    }
  }
}

// Adds the other slice's sums; called by the whole block.
template <uint32_t kTiles>
RZ_DEVICE void add_other_slice(float* shared, float (&sums)[kTiles][4]) {
  const uint32_t lane = thread_idx() % 32, warp = thread_idx() / 32;
  const auto at = [&](uint32_t w, uint32_t n, uint32_t i) { return ((w * kTiles + n) * 4 + i) * 32 + lane; };
  for (uint32_t n = 0; n < kTiles; ++n) {
    for (uint32_t i = 0; i < 4; ++i) shared[at(warp, n, i)] = sums[n][i];
  }
  barrier();
  for (uint32_t n = 0; n < kTiles; ++n) {
    for (uint32_t i = 0; i < 4; ++i) sums[n][i] += shared[at(warp ^ 1, n, i)];
  }
}

// out += weights . values, for the slice's dimensions.
template <class Kv, uint32_t kDim>
RZ_DEVICE void add_values(const KvTile<kDim>& tile, const float (&weights)[kTilePositions<kDim> / 8][4], uint32_t slice,
                          uint32_t lane, float (&out)[kDim / kSlices<kDim> / 8][4]) {
  using Values = typename ChunksOf<Kv>::Values;
  constexpr uint32_t kPanels = kDim / kSlices<kDim> / 64;
  const uint32_t g = lane / 4, t = lane % 4;
  RZ_UNROLL for (uint32_t step = 0; step < kTilePositions<kDim> / 16; ++step) {
    const uint32_t pos = 16 * step + 2 * t;
    WeightFragments fragments{};
    const auto split = [&](const auto& scale_of) {
      fragments = split_weights<Values>(weights[2 * step], weights[2 * step + 1], scale_of);
    };
    if constexpr (!Kv::kHasScales) split([](uint32_t) { return 1.0f; });
    RZ_UNROLL for (uint32_t panel = 0; panel < kPanels; ++panel) {
      const uint32_t c = 8 * (slice * kPanels + panel) + g;
      Words4 values[4];
      for (uint32_t i = 0; i < 4; ++i) values[i] = tile.values[chunk_at<kDim>(pos + i % 2 + i / 2 * 8, c)];
      RZ_UNROLL for (uint32_t j = 0; j < 8; ++j) {
        if constexpr (Kv::kHasScales) {
          const uint32_t group = 2 * (slice * kPanels + panel) + j / 4;
          if (j % 4 == 0) split([&](uint32_t i) { return tile.value_scale(pos + i, group); });
        }
        const uint32_t column[2] = {column_of(values[0], values[1], j), column_of(values[2], values[3], j)};
        Values::multiply(out[8 * panel + j], fragments.high, column);
        Values::multiply(out[8 * panel + j], fragments.low, column);
      }
    }
  }
}

template <class Kv, uint32_t kDim>
RZ_DEVICE void store_lines(const AttentionArgs& a, const PrefillPlace& p, uint32_t first_line, uint32_t slice,
                           uint32_t t, const AttentionLine (&lines)[2],
                           const float (&out)[kDim / kSlices<kDim> / 8][4]) {
  RZ_UNROLL for (uint32_t line = 0; line < 2; ++line) {
    const auto [to, is_partial] = line_place(a, p, first_line + 8 * line).out;
    float total = quad_sum(lines[line].total);
    if (to == nullptr) continue;
    if (!is_partial) total += kWeightScale * sink_weight(a, p.head(first_line + 8 * line), lines[line].max);
    RZ_UNROLL for (uint32_t n = 0; n < kDim / kSlices<kDim> / 8; ++n) {
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t c = slice * (kDim / kSlices<kDim> / 8) + n / 8 * 8 + 2 * t + i;
        const uint32_t dim = ChunksOf<Kv>::value_dim(c, n % 8);
        const float value = out[n][2 * line + i];
        if (dim < a.cache.head_dim) to[dim] = is_partial ? value : value / total;
      }
    }
    if (!is_partial || slice > 0 || t > 0) continue;
    to[kDim] = lines[line].max;
    to[kDim + 1] = total;
  }
}

template <class Kv, uint32_t kDim>
RZ_KERNEL void attention_prefill_kernel(AttentionArgs a) {
  constexpr uint32_t kPositions = kTilePositions<kDim>, kChunks = kPositions * kDim / 8;
  constexpr uint32_t kScaleWords = Kv::kHasScales ? kPositions * kDim / 64 : 1;
  constexpr uint32_t kSliceDim = kDim / kSlices<kDim>,
                     kExchanged = kIsSliced<kDim> ? kPrefillThreads * kPositions / 2 : 1;
  RZ_SHARED(Words4, keys, 2 * kChunks);
  RZ_SHARED(Words4, values, 2 * kChunks);
  RZ_SHARED(uint32_t, scales, 4 * kScaleWords);
  RZ_SHARED(KvPlace, places, 2 * kPositions);
  RZ_SHARED(float, exchanged, kExchanged);
  const PrefillPlace p = prefill_place(a, kBlockLines<kDim>);
  if (p.n_lines == 0 || p.first_pos >= p.end_pos) return;
  const uint32_t lane = thread_idx() % 32, warp = thread_idx() / 32, slice = warp % kSlices<kDim>;
  const uint32_t own_line = warp / kSlices<kDim> * 16 + lane / 4, t = lane % 4;

  const uint32_t first_tile = p.first_pos / kPositions, end_tile = (p.end_pos - 1) / kPositions + 1;
  const auto tile_of = [&](uint32_t n) {
    const uint32_t buffer = n % 2;
    return KvTile<kDim>{keys + buffer * kChunks, values + buffer * kChunks, scales + 2 * buffer * kScaleWords,
                        scales + (2 * buffer + 1) * kScaleWords};
  };
  // Positions visible to no line are replaced by the nearest visible one.
  const auto find_places = [&](uint32_t n) {
    if (n >= end_tile || thread_idx() >= kPositions) return;
    const uint32_t pos = n * kPositions + thread_idx();
    const uint32_t seen = pos < p.first_pos ? p.first_pos : pos < p.end_pos ? pos : p.end_pos - 1;
    places[n % 2 * kPositions + thread_idx()] = kv_place(a.cache, p.blocks, p.kv_head, seen);
  };
  const auto fill = [&](uint32_t n) { fill_tile<Kv, kDim>(a.cache, places + n % 2 * kPositions, tile_of(n)); };
  find_places(first_tile);
  find_places(first_tile + 1);
  AttentionLine lines[2];
  QueryFragments<kSliceDim / 16> queries;
  load_lines<typename ChunksOf<Kv>::Keys>(a, p, own_line, slice * kSliceDim, t, lines, queries);
  barrier();
  fill(first_tile);

  float out[kSliceDim / 8][4] = {};
  for (uint32_t n = first_tile; n < end_tile; ++n) {
    wait_for_copies<0>();
    barrier();
    if (n + 1 < end_tile) fill(n + 1);
    find_places(n + 2);
    if (!kIsSliced<kDim> && !warp_sees(lines, n * kPositions, kPositions)) continue;
    float sums[kPositions / 8][4] = {};
    multiply_keys<Kv, kDim>(tile_of(n), queries, slice, lane, sums);
    if constexpr (kIsSliced<kDim>) add_other_slice(exchanged, sums);
    weigh_tile(a, n * kPositions, t, lines, sums, out);
    add_values<Kv, kDim>(tile_of(n), sums, slice, lane, out);
  }
  // Recomputed rather than kept in registers.
  store_lines<Kv, kDim>(a, prefill_place(a, kBlockLines<kDim>), own_line, slice, t, lines, out);
}

// Merges the cuts of a row and head in order.
RZ_KERNEL void attention_merge_kernel(AttentionArgs a) {
  const uint32_t row = a.first_row + block_x(), head = block_y(), dims = dim_class(a.op.value_dim());
  const uint32_t first_seen = first_visible(static_cast<uint32_t>(a.step.positions[row]), a.window);
  const uint32_t n_cuts = n_cuts_between<PromptCuts>(first_seen, last_seen(a, row));
  if (n_cuts == 1) return;
  const float* partials = a.partials + partial_at(a, row, head, 0);
  const auto of_cut = [&](uint32_t cut) { return partials + cut * (dims + 2); };
  float max = -INFINITY;
  for (uint32_t cut = 0; cut < n_cuts; ++cut) max = fmaxf(max, of_cut(cut)[dims]);
  float* out = a.out + (uint64_t{row} * a.op.n_heads + head) * a.cache.head_dim;
  for (uint32_t d = thread_idx(); d < a.cache.head_dim; d += kMergeThreads) {
    float value = 0, total = 0;
    for (uint32_t cut = 0; cut < n_cuts; ++cut) {
      const float weight = weight_of(of_cut(cut)[dims], max);
      value = fmaf(weight, of_cut(cut)[d], value);
      total = fmaf(weight, of_cut(cut)[dims + 1], total);
    }
    out[d] = value / (total + kWeightScale * sink_weight(a, head, max));
  }
}

template <class Kv, uint32_t kDim>
void launch_prefill(const AttentionArgs& a, Stream stream) {
  const uint32_t n_lines = kPromptTileRows * (a.op.n_heads / a.cache.n_kv_heads);
  const uint32_t n_parts = (n_lines + kBlockLines<kDim> - 1) / kBlockLines<kDim>;
  launch(attention_prefill_kernel<Kv, kDim>, {a.n_tiles * a.n_cuts, a.cache.n_kv_heads * n_parts}, kPrefillThreads, a,
         stream);
  if (a.n_cuts > 1) {
    launch(attention_merge_kernel, {a.end_row - a.first_row, a.op.n_heads}, kMergeThreads, a, stream);
  }
}

void attention_prefill(const AttentionArgs& a, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    using Kv = decltype(kv);
    if constexpr (Kv::kHasChunks) {
      const uint32_t dims = dim_class(a.cache.head_dim);
      if (dims == 64) return launch_prefill<Kv, 64>(a, stream);
      if (dims == 128) return launch_prefill<Kv, 128>(a, stream);
      launch_prefill<Kv, 256>(a, stream);
    }
  });
}
