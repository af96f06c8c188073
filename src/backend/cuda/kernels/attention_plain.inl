// Attention over an F32 cache, in F32: for measuring the loss of other types, not for speed. A block has one row, a KV
// head and up to 4 of its query heads, and processes aligned pieces of positions in order.

constexpr uint32_t kPiecePositions = 128;
constexpr uint32_t kAttentionThreads = kPiecePositions;
constexpr uint32_t kPlainHeads = 4;

struct PlainAttentionArgs {
  AttentionArgs attention;
  RowRange rows;
};

// A block's row and heads.
struct AttentionPlace {
  uint32_t row, kv_head, first_head, n_heads;
  uint32_t first_pos, end_pos;  // visible to the row
  const int32_t* blocks;
};

RZ_DEVICE AttentionPlace attention_place(const AttentionArgs& a, uint32_t row) {
  AttentionPlace p{};
  const uint32_t n_rep = a.op.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kPlainHeads - 1) / kPlainHeads;
  p.row = row;
  p.kv_head = block_y() / n_parts;
  const uint32_t part = block_y() % n_parts;
  p.first_head = p.kv_head * n_rep + part * kPlainHeads;
  p.n_heads = n_rep - part * kPlainHeads < kPlainHeads ? n_rep - part * kPlainHeads : kPlainHeads;
  const auto pos = static_cast<uint32_t>(a.step.positions[row]);
  p.end_pos = last_seen(a, row) + 1;
  p.first_pos = first_visible(pos, a.window);
  p.blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[row]} * a.step.max_blocks;
  return p;
}

// One position's scores for all query heads of the block, whose queries are kDim apart; -infinity if not visible.
template <uint32_t kDim>
RZ_DEVICE void score_position(const AttentionArgs& a, const AttentionPlace& p, const float* q, uint32_t pos,
                              float* scores) {
  float sums[kPlainHeads] = {};
  const bool is_seen = pos >= p.first_pos && pos < p.end_pos;
  if (is_seen) {
    const KvPlace place = kv_place(a.cache, p.blocks, p.kv_head, pos);
    for (uint32_t i = 0; i < a.cache.head_dim; ++i) {
      const float x = KvF32::value(a.cache, a.cache.keys, place, i);
      for (uint32_t h = 0; h < kPlainHeads; ++h) sums[h] = fmaf(q[h * kDim + i], x, sums[h]);
    }
  }
  for (uint32_t h = 0; h < kPlainHeads; ++h) {
    const float score = h < p.n_heads ? slope_of(a, p.row, p.first_head + h).added(sums[h] * a.op.scale, pos) : 0.0f;
    scores[h * kPiecePositions + thread_idx()] = is_seen ? capped(score, a.op.softcap) : -INFINITY;
  }
}

// Turns the scores of one piece into weights; one warp. `factor` rescales earlier sums.
RZ_DEVICE void weigh_piece(float* scores, float* max, float* total, float* factor, uint32_t lane) {
  float own[kPiecePositions / 32];
  float piece_max = -INFINITY;
  for (uint32_t i = 0; i < kPiecePositions / 32; ++i) {
    own[i] = scores[lane + 32 * i];
    piece_max = fmaxf(piece_max, own[i]);
  }
  const float old_max = *max, new_max = fmaxf(old_max, warp_max(piece_max));
  float sum = 0;
  for (uint32_t i = 0; i < kPiecePositions / 32; ++i) {
    const float weight = expf(own[i] - new_max);
    scores[lane + 32 * i] = weight;
    sum += weight;
  }
  sum = warp_sum(sum);
  if (lane > 0) return;
  *factor = expf(old_max - new_max);
  *total = *total * *factor + sum;
  *max = new_max;
}

// sums = sums * factor + weights . values over one piece, in the order of positions.
template <uint32_t kEach>
RZ_DEVICE void add_piece(const AttentionArgs& a, const AttentionPlace& p, uint32_t first, const float* weights,
                         const float* factors, float (&sums)[kEach][kPlainHeads]) {
  for (uint32_t j = 0; j < kEach; ++j) {
    const uint32_t d = thread_idx() + j * kAttentionThreads;
    if (d >= a.op.value_dim()) continue;
    for (uint32_t h = 0; h < kPlainHeads; ++h) sums[j][h] *= factors[h];
    const uint32_t begin = first > p.first_pos ? first : p.first_pos;
    const uint32_t end = first + kPiecePositions < p.end_pos ? first + kPiecePositions : p.end_pos;
    for (uint32_t pos = begin; pos < end; ++pos) {
      const float x = KvF32::value(a.cache, a.cache.values, kv_place(a.cache, p.blocks, p.kv_head, pos), d);
      for (uint32_t h = 0; h < kPlainHeads; ++h) {
        sums[j][h] = fmaf(weights[h * kPiecePositions + pos - first], x, sums[j][h]);
      }
    }
  }
}

// For heads of at most kDim dimensions, with values of at most kValueDim.
template <uint32_t kDim, uint32_t kValueDim>
RZ_KERNEL void plain_attention_kernel(PlainAttentionArgs args) {
  const AttentionArgs& a = args.attention;
  RZ_SHARED(float, q, kPlainHeads* kDim);
  RZ_SHARED(float, scores, kPlainHeads* kPiecePositions);
  RZ_SHARED(float, maxima, kPlainHeads);
  RZ_SHARED(float, factors, kPlainHeads);
  RZ_SHARED(float, totals, kPlainHeads);
  const uint32_t row = *args.rows.first + block_x(), thread = thread_idx(), head_dim = a.cache.head_dim;
  if (row >= *args.rows.end) return;
  const AttentionPlace p = attention_place(a, row);
  const float* from = a.q + (uint64_t{row} * a.op.n_heads + p.first_head) * head_dim;
  for (uint32_t i = thread; i < kPlainHeads * kDim; i += kAttentionThreads) {
    const uint32_t h = i / kDim, d = i % kDim;
    q[i] = h < p.n_heads && d < head_dim ? from[h * head_dim + d] : 0.0f;
  }
  if (thread < kPlainHeads) {
    maxima[thread] = -INFINITY;
    totals[thread] = 0;
  }
  barrier();
  // Each thread has some dimensions of every query head.
  constexpr uint32_t kEach = kValueDim / kAttentionThreads;
  float sums[kEach][kPlainHeads] = {};
  for (uint32_t first = p.first_pos / kPiecePositions * kPiecePositions; first < p.end_pos; first += kPiecePositions) {
    score_position<kDim>(a, p, q, first + thread, scores);
    barrier();
    for (uint32_t h = thread / 32; h < kPlainHeads; h += kAttentionThreads / 32) {
      weigh_piece(scores + h * kPiecePositions, maxima + h, totals + h, factors + h, thread % 32);
    }
    barrier();
    add_piece(a, p, first, scores, factors, sums);
    barrier();
  }
  float* out = a.out + (uint64_t{row} * a.op.n_heads + p.first_head) * a.op.value_dim();
  for (uint32_t j = 0; j < kEach; ++j) {
    const uint32_t d = thread + j * kAttentionThreads;
    if (d >= a.op.value_dim()) continue;
    for (uint32_t h = 0; h < p.n_heads; ++h) {
      out[h * a.op.value_dim() + d] = sums[j][h] / (totals[h] + sink_weight(a, p.first_head + h, maxima[h]));
    }
  }
}

void attention_plain(const AttentionArgs& a, const RowRange& rows, uint32_t max_rows, Stream stream) {
  const uint32_t n_rep = a.op.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kPlainHeads - 1) / kPlainHeads;
  const Grid grid{max_rows, a.cache.n_kv_heads * n_parts};
  const bool is_wide = a.cache.head_dim > kMaxHeadDim || a.op.value_dim() > kMaxHeadDim;
  launch(is_wide ? plain_attention_kernel<kMaxLatentKeyDim, kMaxLatentDim>
                 : plain_attention_kernel<kMaxHeadDim, kMaxHeadDim>,
         grid, kAttentionThreads, PlainAttentionArgs{a, rows}, stream);
}
