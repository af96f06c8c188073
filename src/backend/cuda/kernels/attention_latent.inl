// Attention to latents, where all query heads of a row read the same keys, and a value is the first elements of its
// key; also heads with separate values that are too wide for the registers of other kernels. A block has up to 16 query
// heads of one row and KV head, decode or prompt alike, and one cut of its context. Bound by the products, since heads
// are many. The block's warps share its heads: each has every fourth block of 32 dimensions of queries and keys, and
// every fourth panel of 64 of values, which go from memory to the registers of the products; for each step of 16
// positions they add up their sums of products, and all compute the same weights. A separate kernel merges a row's cuts
// in order. Every result depends only on positions, never on the rest of the batch.

constexpr uint32_t kLatentSlices = 4;
constexpr uint32_t kLatentThreads = 32 * kLatentSlices;
constexpr uint32_t kLatentHeads = 16;      // per block
constexpr uint32_t kLatentPositions = 16;  // per step
constexpr uint32_t kLatentRing = 4;        // steps whose places are kept
constexpr uint32_t kKeyBlocks = (kMaxLatentKeyDim / 32 + kLatentSlices - 1) / kLatentSlices;  // per warp
constexpr uint32_t kValuePanels = kMaxLatentDim / 64 / kLatentSlices;                         // per warp
constexpr uint32_t kLatentMergeWarps = 4;

// A row and a cut of its context, relative to the row's first cut.
struct LatentPlace {
  uint32_t row, cut;
  uint32_t n_cuts;              // of the row; 0: the block is idle
  uint32_t first_pos, end_pos;  // of the cut, clipped to the row's range
};

template <class Cuts>
RZ_DEVICE void find_cut(uint32_t pos, uint32_t window, LatentPlace& p) {
  const uint32_t first_seen = first_visible(pos, window), n_cuts = n_cuts_of<Cuts>(pos, window);
  if (p.cut >= n_cuts) return;
  const uint32_t cut = Cuts::of(first_seen) + p.cut, begin = Cuts::begin(cut), end = Cuts::begin(cut + 1);
  p.n_cuts = n_cuts;
  p.first_pos = begin > first_seen ? begin : first_seen;
  p.end_pos = end < pos + 1 ? end : pos + 1;
}

// Decode rows are listed; each prompt row has n_cuts slots.
RZ_DEVICE LatentPlace latent_place(const AttentionArgs& a) {
  LatentPlace p{};
  const bool is_decode = a.row_cuts != nullptr;
  const RowCut own =
      is_decode ? a.row_cuts[block_x()] : RowCut{a.first_row + block_x() / a.n_cuts, block_x() % a.n_cuts};
  if (own.row == kNoRow) return p;
  p.row = own.row;
  p.cut = own.cut;
  const auto pos = static_cast<uint32_t>(a.step.positions[p.row]);
  if (is_decode) {
    find_cut<DecodeCuts>(pos, a.window, p);
  } else {
    find_cut<PromptCuts>(pos, a.window, p);
  }
  return p;
}

// The partial results of a head in that slot: [values | maximum, sum].
RZ_DEVICE float* latent_partial(const AttentionArgs& a, uint32_t place, uint32_t head) {
  return a.partials + (uint64_t{place} * a.op.n_heads + head) * (dim_class(a.op.value_dim()) + 2);
}

using LatentQueries = QueryFragments<2 * kKeyBlocks>;

// A lane's heads: `first` and `first` + 8, if they exist.
struct LatentHeads {
  uint32_t kv_head, first, end;

  RZ_DEVICE LatentHeads(const AttentionArgs& a, uint32_t lane) {
    const uint32_t n_rep = a.op.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kLatentHeads - 1) / kLatentHeads;
    kv_head = block_y() / n_parts;
    first = kv_head * n_rep + block_y() % n_parts * kLatentHeads + lane / 4;
    end = (kv_head + 1) * n_rep;
  }
  RZ_DEVICE bool has(uint32_t i) const { return first + 8 * i < end; }
};

// Loads the slice's part of the lane's heads, and the scales of all of them.
template <class Keys>
RZ_DEVICE void load_latent_queries(const AttentionArgs& a, const LatentPlace& p, const LatentHeads& heads,
                                   uint32_t slice, uint32_t t, AttentionLine (&lines)[2], LatentQueries& queries) {
  const uint32_t key_dim = a.cache.head_dim;
  RZ_UNROLL for (uint32_t i = 0; i < 2; ++i) {
    const bool has_head = heads.has(i);
    const float* q = a.q + (uint64_t{p.row} * a.op.n_heads + heads.first + 8 * i) * key_dim;
    float max = 0;
    for (uint32_t d = t; has_head && d < key_dim; d += 4) max = fmaxf(max, fabsf(q[d]));
    const PowerOfTwo scale = query_scale(quad_max(max));
    lines[i] = {p.first_pos, p.end_pos, scale.down * a.op.scale, -INFINITY, 0, {}};
    RZ_UNROLL for (uint32_t step = 0; step < 2 * kKeyBlocks; ++step) {
      const uint32_t dim = 32 * (slice + kLatentSlices * (step / 2)) + 8 * t + step % 2 * 4;
      float x[4];
      for (uint32_t j = 0; j < 4; ++j) x[j] = has_head && dim + j < key_dim ? q[dim + j] * scale.up : 0.0f;
      for (uint32_t j = 0; j < 2; ++j) {
        const Pairs pairs = Keys::split(x[2 * j], x[2 * j + 1]);
        queries.high[step][2 * j + i] = pairs.high;
        queries.low[step][2 * j + i] = pairs.low;
      }
    }
  }
}

// The scale of 32 dimensions at a position.
RZ_DEVICE float latent_scale(const KvView& cache, const uint8_t* plane, const KvPlace& place, uint32_t group) {
  return half_to_float(reinterpret_cast<const uint16_t*>(kv_scales(cache, plane, place))[group]);
}

// The slice's sums of products of the heads with a step's keys.
template <class Kv>
RZ_DEVICE void multiply_latent_keys(const KvView& cache, const KvPlace* places, const LatentQueries& queries,
                                    uint32_t slice, uint32_t lane, float (&sums)[2][4]) {
  using Chunks = ChunksOf<Kv>;
  const uint32_t g = lane / 4, t = lane % 4;
  typename Chunks::Raw raw[kKeyBlocks][2];
  RZ_UNROLL for (uint32_t i = 0; i < kKeyBlocks; ++i) {
    for (uint32_t tile = 0; tile < 2; ++tile) {
      raw[i][tile] = Chunks::load_keys(cache, kv_row(cache, cache.keys, places[8 * tile + g]),
                                       4 * (slice + kLatentSlices * i) + t);
    }
  }
  RZ_UNROLL for (uint32_t i = 0; i < kKeyBlocks; ++i) {
    const uint32_t block = slice + kLatentSlices * i;
    if (32 * block >= cache.head_dim) continue;
    for (uint32_t tile = 0; tile < 2; ++tile) {
      const Words4 keys = Chunks::keys(raw[i][tile]);
      float own[4] = {};
      float(&to)[4] = Kv::kHasScales ? own : sums[tile];
      for (uint32_t half = 0; half < 2; ++half) {
        Chunks::Keys::multiply(to, queries.high[2 * i + half], {keys.word[2 * half], keys.word[2 * half + 1]});
        Chunks::Keys::multiply(to, queries.low[2 * i + half], {keys.word[2 * half], keys.word[2 * half + 1]});
      }
      if constexpr (Kv::kHasScales) {
        for (uint32_t j = 0; j < 4; ++j) {
          sums[tile][j] =
              fmaf(latent_scale(cache, cache.keys, places[8 * tile + 2 * t + j % 2], block), own[j], sums[tile][j]);
        }
      }
    }
  }
}

// Adds all slices' sums in order; called by the whole block. Adjacent steps use other memory, so one barrier suffices.
RZ_DEVICE void add_slices(float* shared, uint32_t slice, uint32_t lane, float (&sums)[2][4]) {
  const auto at = [&](uint32_t of_slice, uint32_t i) { return (of_slice * 8 + i) * 32 + lane; };
  for (uint32_t i = 0; i < 8; ++i) shared[at(slice, i)] = sums[i / 4][i % 4];
  barrier();
  for (uint32_t i = 0; i < 8; ++i) {
    float sum = shared[at(0, i)];
    for (uint32_t s = 1; s < kLatentSlices; ++s) sum += shared[at(s, i)];
    sums[i / 4][i % 4] = sum;
  }
}

// out += weights . values, for the slice's panels.
template <class Kv>
RZ_DEVICE void add_latent_values(const KvView& cache, const KvPlace* places, const float (&weights)[2][4],
                                 uint32_t value_dim, uint32_t slice, uint32_t lane, float (&out)[8 * kValuePanels][4]) {
  using Chunks = ChunksOf<Kv>;
  const uint32_t g = lane / 4, t = lane % 4;
  const auto place = [&](uint32_t i) -> const KvPlace& { return places[2 * t + i % 2 + i / 2 * 8]; };
  typename Chunks::Raw raw[kValuePanels][4];
  RZ_UNROLL for (uint32_t n = 0; n < kValuePanels; ++n) {
    for (uint32_t i = 0; i < 4; ++i) {
      raw[n][i] =
          Chunks::load_values(cache, kv_row(cache, cache.values, place(i)), 8 * (slice + kLatentSlices * n) + g);
    }
  }
  WeightFragments fragments{};
  const auto split = [&](const auto& scale_of) {
    fragments = split_weights<typename Chunks::Values>(weights[0], weights[1], scale_of);
  };
  if constexpr (!Kv::kHasScales) split([](uint32_t) { return 1.0f; });
  RZ_UNROLL for (uint32_t n = 0; n < kValuePanels; ++n) {
    const uint32_t panel = slice + kLatentSlices * n;
    if (64 * panel >= value_dim) continue;
    Words4 values[4];
    for (uint32_t i = 0; i < 4; ++i) values[i] = Chunks::values(raw[n][i]);
    RZ_UNROLL for (uint32_t j = 0; j < 8; ++j) {
      if constexpr (Kv::kHasScales) {
        const uint32_t group = 2 * panel + j / 4;
        if (j % 4 == 0) split([&](uint32_t i) { return latent_scale(cache, cache.values, places[2 * t + i], group); });
      }
      const uint32_t column[2] = {column_of(values[0], values[1], j), column_of(values[2], values[3], j)};
      Chunks::Values::multiply(out[8 * n + j], fragments.high, column);
      Chunks::Values::multiply(out[8 * n + j], fragments.low, column);
    }
  }
}

// Stores the slice's panels of the lane's heads, with each head's maximum and sum if there are several cuts.
template <class Kv>
RZ_DEVICE void store_latent_heads(const AttentionArgs& a, const LatentPlace& p, const LatentHeads& heads,
                                  uint32_t slice, uint32_t t, const AttentionLine (&lines)[2],
                                  const float (&out)[8 * kValuePanels][4]) {
  const uint32_t dims = dim_class(a.op.value_dim());
  RZ_UNROLL for (uint32_t line = 0; line < 2; ++line) {
    const uint32_t h = heads.first + 8 * line;
    const bool is_partial = p.n_cuts > 1;
    float total = quad_sum(lines[line].total);
    if (!heads.has(line)) continue;
    if (!is_partial) total += kWeightScale * sink_weight(a, h, lines[line].max);
    float* to =
        is_partial ? latent_partial(a, block_x(), h) : a.out + (uint64_t{p.row} * a.op.n_heads + h) * a.op.value_dim();
    RZ_UNROLL for (uint32_t n = 0; n < 8 * kValuePanels; ++n) {
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t c = 8 * (slice + kLatentSlices * (n / 8)) + 2 * t + i, dim = ChunksOf<Kv>::value_dim(c, n % 8);
        const float value = out[n][2 * line + i];
        if (dim < a.op.value_dim()) to[dim] = is_partial ? value : value / total;
      }
    }
    if (!is_partial || slice > 0 || t > 0) continue;
    to[dims] = lines[line].max;
    to[dims + 1] = total;
  }
}

template <class Kv>
RZ_KERNEL_WITHIN(kLatentThreads, 2)
void latent_attention_kernel(AttentionArgs a) {
  constexpr uint32_t kSums = kLatentSlices * 8 * 32;
  RZ_SHARED(float, exchanged, 2 * kSums);
  RZ_SHARED(KvPlace, places, kLatentRing * kLatentPositions);
  const LatentPlace p = latent_place(a);
  if (p.n_cuts == 0) return;
  const uint32_t slice = thread_idx() / 32, lane = thread_idx() % 32, t = lane % 4;
  const LatentHeads heads(a, lane);
  const int32_t* blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[p.row]} * a.step.max_blocks;
  const uint32_t first_step = p.first_pos / kLatentPositions, end_step = (p.end_pos - 1) / kLatentPositions + 1;
  // Invisible positions are replaced by the nearest visible one. The places of the step four before have been read when
  // they are overwritten, since there was a barrier in between.
  const auto places_of = [&](uint32_t n) { return places + n % kLatentRing * kLatentPositions; };
  const auto find_places = [&](uint32_t n) {
    if (n >= end_step || thread_idx() >= kLatentPositions) return;
    const uint32_t pos = n * kLatentPositions + thread_idx();
    const uint32_t seen = pos < p.first_pos ? p.first_pos : pos < p.end_pos ? pos : p.end_pos - 1;
    places_of(n)[thread_idx()] = kv_place(a.cache, blocks, heads.kv_head, seen);
  };
  find_places(first_step);
  find_places(first_step + 1);
  AttentionLine lines[2];
  LatentQueries queries;
  load_latent_queries<typename ChunksOf<Kv>::Keys>(a, p, heads, slice, t, lines, queries);
  barrier();

  float out[8 * kValuePanels][4] = {};
  for (uint32_t n = first_step; n < end_step; ++n) {
    find_places(n + 2);
    float sums[2][4] = {};
    multiply_latent_keys<Kv>(a.cache, places_of(n), queries, slice, lane, sums);
    add_slices(exchanged + n % 2 * kSums, slice, lane, sums);
    weigh_tile(a, n * kLatentPositions, t, lines, sums, out);
    add_latent_values<Kv>(a.cache, places_of(n), sums, a.op.value_dim(), slice, lane, out);
  }
  store_latent_heads<Kv>(a, p, heads, slice, t, lines, out);
}

// One warp per head of a row: the block at the row's first cut merges all of them, in adjacent slots.
RZ_KERNEL void latent_merge_kernel(AttentionArgs a) {
  const LatentPlace p = latent_place(a);
  const uint32_t head = block_y() * kLatentMergeWarps + thread_idx() / 32, dims = dim_class(a.op.value_dim());
  if (p.n_cuts < 2 || p.cut > 0 || head >= a.op.n_heads) return;
  const auto of_cut = [&](uint32_t cut) { return latent_partial(a, block_x() + cut, head); };
  float max = -INFINITY;
  for (uint32_t cut = 0; cut < p.n_cuts; ++cut) max = fmaxf(max, of_cut(cut)[dims]);
  float* out = a.out + (uint64_t{p.row} * a.op.n_heads + head) * a.op.value_dim();
  for (uint32_t d = thread_idx() % 32; d < a.op.value_dim(); d += 32) {
    float value = 0, total = 0;
    for (uint32_t cut = 0; cut < p.n_cuts; ++cut) {
      const float weight = weight_of(of_cut(cut)[dims], max);
      value = fmaf(weight, of_cut(cut)[d], value);
      total = fmaf(weight, of_cut(cut)[dims + 1], total);
    }
    out[d] = value / (total + kWeightScale * sink_weight(a, head, max));
  }
}

template <class Kv>
void launch_latent(const AttentionArgs& a, uint32_t n_places, bool has_cuts, Stream stream) {
  const uint32_t n_parts = (a.op.n_heads / a.cache.n_kv_heads + kLatentHeads - 1) / kLatentHeads;
  launch(latent_attention_kernel<Kv>, {n_places, a.cache.n_kv_heads * n_parts}, kLatentThreads, a, stream);
  if (!has_cuts) return;
  launch(latent_merge_kernel, {n_places, (a.op.n_heads + kLatentMergeWarps - 1) / kLatentMergeWarps},
         32 * kLatentMergeWarps, a, stream);
}

void attention_latent(const AttentionArgs& a, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    using Kv = decltype(kv);
    if constexpr (Kv::kHasChunks) {
      if (a.row_cuts == nullptr)
        return launch_latent<Kv>(a, (a.end_row - a.first_row) * a.n_cuts, a.n_cuts > 1, stream);
      AttentionArgs pass = a;
      for (uint64_t first = 0; first < a.n_row_cuts; first += a.pass_row_cuts, pass.row_cuts += a.pass_row_cuts) {
        const uint64_t n_left = a.n_row_cuts - first;
        launch_latent<Kv>(pass, static_cast<uint32_t>(n_left < a.pass_row_cuts ? n_left : a.pass_row_cuts),
                          a.partials != nullptr, stream);
      }
    }
  });
}
