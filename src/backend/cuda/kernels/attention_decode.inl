// Attention of decode rows: a block has one cut of one row's context, a KV head and up to 8 of its query heads. Bound
// by the bytes of the cache, so keys and values go from memory to the registers of the products, 16 bytes per lane if
// the type allows, one step ahead; tensor cores only save instructions. Each of the block's warps takes every fourth
// (for wide heads, second) step of 16 positions: with lane = 4 g + t, the 16 rows of a product are the heads' high
// parts (row g: head g) and low parts (row g + 8), its columns 8 positions or 8 dimensions. Every result depends only
// on positions, never on the rest of the batch.

constexpr uint32_t kStepPositions = 16;
constexpr uint32_t kMergedCuts = 64;  // per pass

template <uint32_t kDim>
constexpr uint32_t kDecodeWarps = kDim > 128 ? 2 : 4;
// Wide heads fill the registers and leave no room for loads ahead.
template <uint32_t kDim>
constexpr bool kLoadsAhead = kDim <= 128;

struct DecodePlace {
  uint32_t row, kv_head, first_head, n_heads;
  uint32_t n_cuts, cut;         // relative to the first cut of the row
  uint32_t first_pos, end_pos;  // of the cut, clipped to the row's range
  uint32_t cut_begin;
  uint64_t part;  // of all rows

  // The block's first head in the partial results of some cut of the row; a row's cuts are in adjacent slots.
  template <uint32_t kWidth>
  RZ_DEVICE float* partial(const AttentionArgs& a, uint32_t of_cut) const {
    return a.partials + (uint64_t{block_x() - cut + of_cut} * a.op.n_heads + first_head) * kWidth;
  }
};

RZ_DEVICE DecodePlace decode_place(const AttentionArgs& a, const RowCut& own) {
  const uint32_t n_rep = a.op.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kPartHeads - 1) / kPartHeads;
  const uint32_t of_row = block_y(), part = of_row % n_parts;
  const auto pos = static_cast<uint32_t>(a.step.positions[own.row]);
  const uint32_t first_seen = first_visible(pos, a.window);
  DecodePlace p{};
  p.row = own.row;
  p.kv_head = of_row / n_parts;
  p.first_head = p.kv_head * n_rep + part * kPartHeads;
  p.n_heads = n_rep - part * kPartHeads < kPartHeads ? n_rep - part * kPartHeads : kPartHeads;
  p.part = uint64_t{own.row} * a.cache.n_kv_heads * n_parts + of_row;
  p.n_cuts = n_cuts_of<DecodeCuts>(pos, a.window);
  p.cut = own.cut;
  const uint32_t cut = DecodeCuts::of(first_seen) + p.cut;
  const Positions range{DecodeCuts::begin(cut), DecodeCuts::begin(cut + 1)};
  p.cut_begin = range.first;
  p.first_pos = range.first > first_seen ? range.first : first_seen;
  p.end_pos = range.end < pos + 1 ? range.end : pos + 1;
  return p;
}

// Fragments of the queries: word i of lane (g, t) in `fragments[2 * block + half]` has dimensions 32 block + 8 t + 4
// half + 2 (i / 2) and the next, of head g: the order in which a lane loads keys. First, one warp per head finds its
// scale.
template <class Keys, uint32_t kDim>
RZ_DEVICE void load_queries(const AttentionArgs& a, const DecodePlace& p, Words4* fragments, PowerOfTwo* scales) {
  const uint32_t head_dim = a.cache.head_dim, n_warps = n_block_threads() / 32;
  const float* from = a.q + (uint64_t{p.row} * a.op.n_heads + p.first_head) * head_dim;
  for (uint32_t h = thread_idx() / 32; h < kPartHeads; h += n_warps) {
    float max = 0;
    for (uint32_t i = thread_idx() % 32; h < p.n_heads && i < head_dim; i += 32)
      max = fmaxf(max, fabsf(from[h * head_dim + i]));
    max = warp_max(max);
    if (thread_idx() % 32 == 0) scales[h] = query_scale(max);
  }
  barrier();
  for (uint32_t i = thread_idx(); i < kDim / 16 * 32; i += n_block_threads()) {
    const uint32_t g = i % 32 / 4, t = i % 4, dim = i / 64 * 32 + 8 * t + 4 * (i / 32 % 2);
    float x[4];
    for (uint32_t j = 0; j < 4; ++j) {
      x[j] = g < p.n_heads && dim + j < head_dim ? from[g * head_dim + dim + j] * scales[g].up : 0.0f;
    }
    const Pairs first = Keys::split(x[0], x[1]), second = Keys::split(x[2], x[3]);
    fragments[i] = {{first.high, first.low, second.high, second.low}};
  }
}

// A warp's sums for its 8 heads: lane (g, t) has head g; sums cover the lane's own positions.
template <uint32_t kDim>
struct DecodeSums {
  float max, total;
  float out[kDim / 8][4];  // of high parts, of low parts
};

// The lane's part of one step of 16 positions.
template <class Kv, uint32_t kDim>
struct DecodeStep {
  using Chunks = ChunksOf<Kv>;

  const AttentionArgs& a;
  const KvPlace* places;  // [16]
  uint32_t g, t;

  RZ_DEVICE typename Chunks::Raw load_keys(uint32_t tile, uint32_t block) const {
    return Chunks::load_keys(a.cache, kv_row(a.cache, a.cache.keys, places[8 * tile + g]), 4 * block + t);
  }
  // The four positions of the lane's weights: 2t, 2t + 1, and the same plus 8.
  RZ_DEVICE const KvPlace& own(uint32_t i) const { return places[2 * t + i % 2 + i / 2 * 8]; }
  RZ_DEVICE typename Chunks::Raw load_values(uint32_t i, uint32_t panel) const {
    return Chunks::load_values(a.cache, kv_row(a.cache, a.cache.values, own(i)), 8 * panel + g);
  }
};

// Sums of products of queries and keys for the lane's four positions. raw_of(tile, block) returns keys.
template <class Kv, uint32_t kDim, class RawOf>
RZ_DEVICE void score_step(const DecodeStep<Kv, kDim>& step, const Words4* queries, uint32_t lane, const RawOf& raw_of,
                          float (&scores)[4]) {
  using Chunks = ChunksOf<Kv>;
  KvScales<kDim> scales[4];
  if constexpr (Kv::kHasScales) {
    for (uint32_t i = 0; i < 4; ++i) scales[i].load(kv_scales(step.a.cache, step.a.cache.keys, step.own(i)));
  }
  float sums[2][4] = {};
  RZ_UNROLL for (uint32_t block = 0; block < kDim / 32; ++block) {
    const Words4 query[2] = {queries[2 * block * 32 + lane], queries[(2 * block + 1) * 32 + lane]};
    for (uint32_t tile = 0; tile < 2; ++tile) {
      const Words4 keys = Chunks::keys(raw_of(tile, block));
      float own[4] = {};
      float(&to)[4] = Kv::kHasScales ? own : sums[tile];
      Chunks::Keys::multiply(to, query[0].word, {keys.word[0], keys.word[1]});
      Chunks::Keys::multiply(to, query[1].word, {keys.word[2], keys.word[3]});
      if constexpr (Kv::kHasScales) {
        for (uint32_t i = 0; i < 4; ++i)
          sums[tile][i] = fmaf(scales[2 * tile + i % 2].at(block), own[i], sums[tile][i]);
      }
    }
  }
  for (uint32_t i = 0; i < 4; ++i) scores[i] = sums[i / 2][i % 2] + sums[i / 2][i % 2 + 2];
}

// Turns scores of visible positions into weights and rescales earlier sums.
template <uint32_t kDim>
RZ_DEVICE void weigh_step(const AttentionArgs& a, const DecodePlace& p, uint32_t first_pos, uint32_t t, float scale,
                          const Slope& slope, float (&scores)[4], DecodeSums<kDim>& sums) {
  float max = sums.max;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t pos = first_pos + 2 * t + i % 2 + i / 2 * 8;
    const bool is_seen = pos >= p.first_pos && pos < p.end_pos;
    scores[i] = is_seen ? capped(slope.added(scores[i] * scale, pos), a.op.softcap) : -INFINITY;
    max = fmaxf(max, scores[i]);
  }
  max = quad_max(max);
  const float factor = weight_of(sums.max, max);
  sums.max = max;
  sums.total *= factor;
  for (float& score : scores) {
    score = weight_of(score, max) * kWeightScale;
    sums.total += score;
  }
  RZ_UNROLL for (auto& out : sums.out) {
    for (float& x : out) x *= factor;
  }
}

// sums.out += weights . values; raw_of(i, panel) returns the chunk of 64 dimensions at the lane's i-th position.
template <class Kv, uint32_t kDim, class RawOf>
RZ_DEVICE void add_step(const DecodeStep<Kv, kDim>& step, const float (&weights)[4], const RawOf& raw_of,
                        DecodeSums<kDim>& sums) {
  using Chunks = ChunksOf<Kv>;
  KvScales<kDim> scales[4];
  if constexpr (Kv::kHasScales) {
    for (uint32_t i = 0; i < 4; ++i) scales[i].load(kv_scales(step.a.cache, step.a.cache.values, step.own(i)));
  }
  uint32_t fragment[4] = {};
  const auto split_weights = [&](const float(&w)[4]) {
    const Pairs first = Chunks::Values::split(w[0], w[1]), second = Chunks::Values::split(w[2], w[3]);
    fragment[0] = first.high;
    fragment[1] = first.low;
    fragment[2] = second.high;
    fragment[3] = second.low;
  };
  if constexpr (!Kv::kHasScales) split_weights(weights);
  RZ_UNROLL for (uint32_t panel = 0; panel < kDim / 64; ++panel) {
    Words4 values[4];
    for (uint32_t i = 0; i < 4; ++i) values[i] = Chunks::values(raw_of(i, panel));
    RZ_UNROLL for (uint32_t j = 0; j < 8; ++j) {
      if constexpr (Kv::kHasScales) {
        if (j % 4 == 0) {
          float scaled[4];
          for (uint32_t i = 0; i < 4; ++i) scaled[i] = weights[i] * scales[i].at(2 * panel + j / 4);
          split_weights(scaled);
        }
      }
      Chunks::Values::multiply(sums.out[8 * panel + j], fragment,
                               {column_of(values[0], values[1], j), column_of(values[2], values[3], j)});
    }
  }
}

// Runs all steps of a warp.
template <class Kv, uint32_t kDim>
RZ_DEVICE void attend_cut(const AttentionArgs& a, const DecodePlace& p, const Words4* queries, float scale,
                          const KvPlace* places, DecodeSums<kDim>& sums) {
  using Raw = typename ChunksOf<Kv>::Raw;
  const uint32_t lane = thread_idx() % 32, n_warps = n_block_threads() / 32;
  const auto step_at = [&](uint32_t pos) {
    return DecodeStep<Kv, kDim>{a, places + (pos - p.cut_begin), lane / 4, lane % 4};
  };
  uint32_t pos = p.first_pos / kStepPositions;
  pos = (pos + (thread_idx() / 32 + n_warps - pos % n_warps) % n_warps) * kStepPositions;
  const uint32_t g = lane / 4;
  const Slope slope = g < p.n_heads ? slope_of(a, p.row, p.first_head + g) : Slope{};
  Raw keys[2][kDim / 32];
  const auto load_keys = [&](const DecodeStep<Kv, kDim>& step) {
    for (uint32_t i = 0; i < kDim / 16; ++i) keys[i % 2][i / 2] = step.load_keys(i % 2, i / 2);
  };
  if (kLoadsAhead<kDim> && pos < p.end_pos) load_keys(step_at(pos));
  for (; pos < p.end_pos; pos += n_warps * kStepPositions) {
    const DecodeStep<Kv, kDim> step = step_at(pos);
    const uint32_t next_pos = pos + n_warps * kStepPositions;
    float scores[4];
    if constexpr (kLoadsAhead<kDim>) {
      Raw values[kDim / 64][4];
      for (uint32_t i = 0; i < kDim / 16; ++i) values[i / 4][i % 4] = step.load_values(i % 4, i / 4);
      score_step(
          step, queries, lane, [&](uint32_t tile, uint32_t block) { return keys[tile][block]; }, scores);
      if (next_pos < p.end_pos) load_keys(step_at(next_pos));
      weigh_step(a, p, pos, step.t, scale, slope, scores, sums);
      add_step(
          step, scores, [&](uint32_t i, uint32_t panel) { return values[panel][i]; }, sums);
    } else {
      score_step(
          step, queries, lane, [&](uint32_t tile, uint32_t block) { return step.load_keys(tile, block); }, scores);
      weigh_step(a, p, pos, step.t, scale, slope, scores, sums);
      add_step(
          step, scores, [&](uint32_t i, uint32_t panel) { return step.load_values(i, panel); }, sums);
    }
  }
}

// A block's heads in shared memory.
template <uint32_t kDim>
struct HeadSums {
  static constexpr uint32_t kWidth = kDim + 2;  // as in the partial results
  float *values, *max, *total;                  // [kPartHeads, kWidth], [kPartHeads] each
};

// Merges the sums of the block's warps in order. `warps` has [warps, kPartHeads] of [kDim | maximum, total].
template <class Kv, uint32_t kDim>
RZ_DEVICE void merge_warps(const DecodeSums<kDim>& sums, float* warps, const HeadSums<kDim>& merged) {
  constexpr uint32_t kWidth = HeadSums<kDim>::kWidth;
  const uint32_t lane = thread_idx() % 32, g = lane / 4, t = lane % 4;
  float* own = warps + (thread_idx() / 32 * kPartHeads + g) * kWidth;
  RZ_UNROLL for (uint32_t n = 0; n < kDim / 8; ++n) {
    for (uint32_t i = 0; i < 2; ++i) {
      own[ChunksOf<Kv>::value_dim(n / 8 * 8 + 2 * t + i, n % 8)] = sums.out[n][i] + sums.out[n][i + 2];
    }
  }
  const float total = quad_sum(sums.total);
  if (t == 0) {
    own[kDim] = sums.max;
    own[kDim + 1] = total;
  }
  barrier();
  for (uint32_t i = thread_idx(); i < kPartHeads * kDim; i += n_block_threads()) {
    const uint32_t h = i / kDim, d = i % kDim;
    const auto of_warp = [&](uint32_t w) { return warps + (w * kPartHeads + h) * kWidth; };
    float max = -INFINITY, value = 0, all = 0;
    for (uint32_t w = 0; w < kDecodeWarps<kDim>; ++w) max = fmaxf(max, of_warp(w)[kDim]);
    for (uint32_t w = 0; w < kDecodeWarps<kDim>; ++w) {
      const float weight = weight_of(of_warp(w)[kDim], max);
      value = fmaf(weight, of_warp(w)[d], value);
      all = fmaf(weight, of_warp(w)[kDim + 1], all);
    }
    merged.values[h * kWidth + d] = value;
    if (d == 0) {
      merged.max[h] = max;
      merged.total[h] = all;
    }
  }
  barrier();
}

// Stores the block's heads in the partial results of its cut.
template <uint32_t kDim>
RZ_DEVICE void store_partial(const AttentionArgs& a, const DecodePlace& p, const HeadSums<kDim>& heads) {
  constexpr uint32_t kWidth = HeadSums<kDim>::kWidth;
  float* to = p.template partial<kWidth>(a, p.cut);
  for (uint32_t i = thread_idx(); i < p.n_heads * kDim; i += n_block_threads()) {
    to[i / kDim * kWidth + i % kDim] = heads.values[i / kDim * kWidth + i % kDim];
  }
  for (uint32_t h = thread_idx(); h < p.n_heads; h += n_block_threads()) {
    to[h * kWidth + kDim] = heads.max[h];
    to[h * kWidth + kDim + 1] = heads.total[h];
  }
}

// Whether this block completes the cuts of the row's heads.
RZ_DEVICE bool is_last_cut(const AttentionArgs& a, const DecodePlace& p, uint32_t* shared) {
  barrier();
  if (thread_idx() == 0) {
    *shared = arrive(a.arrivals + p.part) + 1 == p.n_cuts ? 1 : 0;
    if (*shared != 0) a.arrivals[p.part] = 0;
  }
  barrier();
  return *shared != 0;
}

// Merges the cuts in order; `weights` has room for [kMergedCuts, kPartHeads].
template <uint32_t kDim>
RZ_DEVICE void merge_cuts(const AttentionArgs& a, const DecodePlace& p, float* weights, const HeadSums<kDim>& merged) {
  constexpr uint32_t kWidth = HeadSums<kDim>::kWidth, kThreads = 32 * kDecodeWarps<kDim>;
  constexpr uint32_t kEach = kPartHeads * kDim / kThreads;
  const auto of_cut = [&](uint32_t s, uint32_t h) { return p.template partial<kWidth>(a, s) + h * kWidth; };
  if (thread_idx() < p.n_heads) {
    float max = -INFINITY;
    for (uint32_t s = 0; s < p.n_cuts; ++s) max = fmaxf(max, load_fresh(of_cut(s, thread_idx()) + kDim));
    merged.max[thread_idx()] = max;
  }
  float values[kEach] = {}, total = 0;
  for (uint32_t first = 0; first < p.n_cuts; first += kMergedCuts) {
    const uint32_t n = p.n_cuts - first < kMergedCuts ? p.n_cuts - first : kMergedCuts;
    barrier();
    for (uint32_t i = thread_idx(); i < n * kPartHeads; i += kThreads) {
      const uint32_t h = i % kPartHeads;
      if (h >= p.n_heads) continue;
      weights[i] = weight_of(load_fresh(of_cut(first + i / kPartHeads, h) + kDim), merged.max[h]);
    }
    barrier();
    for (uint32_t s = 0; s < n; ++s) {
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint32_t at = thread_idx() + i * kThreads, h = at / kDim;
        if (h >= p.n_heads) continue;
        values[i] = fmaf(weights[s * kPartHeads + h], load_fresh(of_cut(first + s, h) + at % kDim), values[i]);
      }
      if (thread_idx() < p.n_heads) {
        total =
            fmaf(weights[s * kPartHeads + thread_idx()], load_fresh(of_cut(first + s, thread_idx()) + kDim + 1), total);
      }
    }
  }
  barrier();
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t at = thread_idx() + i * kThreads;
    merged.values[at / kDim * kWidth + at % kDim] = values[i];
  }
  if (thread_idx() < kPartHeads) merged.total[thread_idx()] = total;
  barrier();
}

template <uint32_t kDim>
RZ_DEVICE void store_heads(const AttentionArgs& a, const DecodePlace& p, const HeadSums<kDim>& heads) {
  float* out = a.out + (uint64_t{p.row} * a.op.n_heads + p.first_head) * a.cache.head_dim;
  for (uint32_t i = thread_idx(); i < p.n_heads * kDim; i += n_block_threads()) {
    const uint32_t h = i / kDim, d = i % kDim;
    if (d >= a.cache.head_dim) continue;
    const float total = heads.total[h] + kWeightScale * sink_weight(a, p.first_head + h, heads.max[h]);
    out[h * a.cache.head_dim + d] = heads.values[h * HeadSums<kDim>::kWidth + d] / total;
  }
}

template <class Kv, uint32_t kDim>
RZ_KERNEL void attention_decode_kernel(AttentionArgs a) {
  constexpr uint32_t kWarpFloats = kPartHeads * (kDim + 2);
  RZ_SHARED(Words4, queries, kDim / 16 * 32);
  RZ_SHARED(PowerOfTwo, scales, kPartHeads);
  RZ_SHARED(KvPlace, places, DecodeCuts::kMost);
  RZ_SHARED(float, warps, kDecodeWarps<kDim>* kWarpFloats);
  RZ_SHARED(float, maxima, kPartHeads);
  RZ_SHARED(float, totals, kPartHeads);
  RZ_SHARED(float, weights, kMergedCuts* kPartHeads);
  RZ_SHARED(uint32_t, is_last, 1);
  const RowCut own = a.row_cuts[block_x()];
  if (own.row == kNoRow) return;
  const DecodePlace p = decode_place(a, own);

  const int32_t* blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[own.row]} * a.step.max_blocks;
  // The first and last steps extend beyond the visible positions, which are replaced by the nearest visible one.
  const uint32_t first_step = p.first_pos / kStepPositions * kStepPositions;
  const uint32_t end_step = (p.end_pos + kStepPositions - 1) / kStepPositions * kStepPositions;
  for (uint32_t pos = first_step + thread_idx(); pos < end_step; pos += n_block_threads()) {
    const uint32_t seen = pos < p.first_pos ? p.first_pos : pos < p.end_pos ? pos : p.end_pos - 1;
    places[pos - p.cut_begin] = kv_place(a.cache, blocks, p.kv_head, seen);
  }
  load_queries<typename ChunksOf<Kv>::Keys, kDim>(a, p, queries, scales);
  barrier();

  DecodeSums<kDim> sums{};
  sums.max = -INFINITY;
  attend_cut<Kv, kDim>(a, p, queries, scales[thread_idx() % 32 / 4].down * a.op.scale, places, sums);
  const HeadSums<kDim> heads{warps, maxima, totals};
  merge_warps<Kv, kDim>(sums, warps, heads);
  if (p.n_cuts > 1) {
    store_partial<kDim>(a, p, heads);
    if (!is_last_cut(a, p, is_last)) return;
    merge_cuts<kDim>(a, p, weights, heads);
  }
  store_heads<kDim>(a, p, heads);
}

template <class Kv, uint32_t kDim>
void launch_decode(const AttentionArgs& a, Stream stream) {
  const uint32_t n_rep = a.op.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kPartHeads - 1) / kPartHeads;
  AttentionArgs pass = a;
  for (uint64_t first = 0; first < a.n_row_cuts; first += a.pass_row_cuts, pass.row_cuts += a.pass_row_cuts) {
    const uint64_t n_left = a.n_row_cuts - first;
    const auto n_places = static_cast<uint32_t>(n_left < a.pass_row_cuts ? n_left : a.pass_row_cuts);
    launch(attention_decode_kernel<Kv, kDim>, {n_places, a.cache.n_kv_heads * n_parts}, 32 * kDecodeWarps<kDim>, pass,
           stream);
  }
}

void attention_decode(const AttentionArgs& a, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    using Kv = decltype(kv);
    if constexpr (Kv::kHasChunks) {
      const uint32_t dims = dim_class(a.cache.head_dim);
      if (dims == 64) return launch_decode<Kv, 64>(a, stream);
      if (dims == 128) return launch_decode<Kv, 128>(a, stream);
      launch_decode<Kv, 256>(a, stream);
    }
  });
}
