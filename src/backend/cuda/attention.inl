// The paged cache: vectors of keys and values as their type stores them; rotary embedding on the way in, attention over
// them on the way out.

// load8: x[0, n) = the values from i on; i is a multiple of 8, n at most 8.
struct KvF32 {
  RZ_DEVICE static void load8(const uint8_t* vector, uint32_t i, uint32_t n, float (&x)[8]) {
    for (uint32_t j = 0; j < 8; ++j) x[j] = j < n ? value(vector, i + j) : 0.0f;
  }
  RZ_DEVICE static float value(const uint8_t* vector, uint32_t i) { return reinterpret_cast<const float*>(vector)[i]; }
  RZ_DEVICE static void store(uint8_t* vector, uint32_t i, float x) { reinterpret_cast<float*>(vector)[i] = x; }
};
struct KvF16 {
  RZ_DEVICE static void load8(const uint8_t* vector, uint32_t i, uint32_t n, float (&x)[8]) {
    for (uint32_t j = 0; j < 8; ++j) x[j] = j < n ? value(vector, i + j) : 0.0f;
  }
  RZ_DEVICE static float value(const uint8_t* vector, uint32_t i) {
    return half_to_float(reinterpret_cast<const uint16_t*>(vector)[i]);
  }
  RZ_DEVICE static void store(uint8_t* vector, uint32_t i, float x) {
    reinterpret_cast<uint16_t*>(vector)[i] = float_to_half(x);
  }
};
struct KvBF16 {
  RZ_DEVICE static void load8(const uint8_t* vector, uint32_t i, uint32_t n, float (&x)[8]) {
    for (uint32_t j = 0; j < 8; ++j) x[j] = j < n ? value(vector, i + j) : 0.0f;
  }
  RZ_DEVICE static float value(const uint8_t* vector, uint32_t i) {
    return bfloat_to_float(reinterpret_cast<const uint16_t*>(vector)[i]);
  }
  RZ_DEVICE static void store(uint8_t* vector, uint32_t i, float x) {
    reinterpret_cast<uint16_t*>(vector)[i] = float_to_bfloat(x);
  }
};
// BlockQ8_0 of quant/blocks.h: F16 d, then 32 codes.
struct KvQ8_0 {
  static constexpr uint32_t kBlockBytes = 34;
  RZ_DEVICE static void load8(const uint8_t* vector, uint32_t i, uint32_t, float (&x)[8]) {
    const uint8_t* block = vector + i / 32 * kBlockBytes;
    const float d = half_to_float(*reinterpret_cast<const uint16_t*>(block));
    for (uint32_t j = 0; j < 8; ++j) x[j] = d * static_cast<float>(static_cast<int8_t>(block[2 + i % 32 + j]));
  }
  RZ_DEVICE static float value(const uint8_t* vector, uint32_t i) {
    const uint8_t* block = vector + i / 32 * kBlockBytes;
    return half_to_float(*reinterpret_cast<const uint16_t*>(block)) *
           static_cast<float>(static_cast<int8_t>(block[2 + i % 32]));
  }
  // All lanes of a warp call, with 32 columns that follow each other.
  RZ_DEVICE static void store(uint8_t* vector, uint32_t i, float x) {
    uint8_t* block = vector + i / 32 * kBlockBytes;
    const uint16_t d = float_to_half(warp_max(fabsf(x)) / 127.0f);
    const float rounded = half_to_float(d);
    const float scaled = rounded > 0 ? x * (1.0f / rounded) : 0.0f;
    const int32_t code = round_to_int(fminf(fmaxf(scaled, -127.0f), 127.0f));
    if (i % 32 == 0) *reinterpret_cast<uint16_t*>(block) = d;
    block[2 + i % 32] = static_cast<uint8_t>(code);
  }
};

template <class Body>
void with_kv_type(KvType type, const Body& body) {
  switch (type) {
    case KvType::kF32:
      return body(KvF32{});
    case KvType::kF16:
      return body(KvF16{});
    case KvType::kBF16:
      return body(KvBF16{});
    case KvType::kQ8_0:
      return body(KvQ8_0{});
  }
}

// Of one position and KV head, in the keys or values.
RZ_DEVICE uint64_t kv_offset(const KvView& cache, const int32_t* blocks, uint32_t head, uint32_t pos) {
  const auto block = static_cast<uint64_t>(blocks[pos / cache.block_tokens]);
  return ((block * cache.n_kv_heads + head) * cache.block_tokens + pos % cache.block_tokens) * cache.vector_bytes;
}

RZ_DEVICE void normalize_head(float* head, uint32_t head_dim, const float* weight, float eps, uint32_t lane) {
  float power = 0;
  for (uint32_t i = lane; i < head_dim; i += 32) power = fmaf(head[i], head[i], power);
  const float scale = 1.0f / sqrtf(warp_sum(power) / static_cast<float>(head_dim) + eps);
  for (uint32_t i = lane; i < head_dim; i += 32) head[i] = head[i] * scale * weight[i];
}

// The angle is reduced in double: at position 100,000 its F32 product would be off by 4e-3.
RZ_DEVICE void rotate_head(float* head, const RopeStoreArgs& a, int32_t pos, uint32_t lane) {
  const uint32_t half = a.n_rot / 2;
  for (uint32_t i = lane; i < half; i += 32) {
    const double turns = static_cast<double>(a.inv_freq[i]) * pos * 0.15915494309189533577;
    const auto angle = static_cast<float>((turns - rint(turns)) * 6.28318530717958647693);
    const float c = cosf(angle) * a.rope_scale, s = sinf(angle) * a.rope_scale;
    const float x = head[i], y = head[i + half];
    head[i] = x * c - y * s;
    head[i + half] = x * s + y * c;
  }
}

// A warp a head: the query heads, then the key heads, which also append their key and value.
template <class Kv>
RZ_KERNEL void rope_store_kernel(RopeStoreArgs a) {
  const uint32_t lane = thread_idx(), row = block_y(), head_dim = a.cache.head_dim;
  if (row >= *a.step.n_rows) return;
  const bool is_key = block_x() >= a.n_heads;
  const uint32_t h = is_key ? block_x() - a.n_heads : block_x();
  float* head = is_key ? a.k + (uint64_t{row} * a.cache.n_kv_heads + h) * head_dim
                       : a.q + (uint64_t{row} * a.n_heads + h) * head_dim;
  const float* norm = is_key ? a.k_norm : a.q_norm;
  const int32_t pos = a.step.positions[row];
  if (norm != nullptr) normalize_head(head, head_dim, norm, a.norm_eps, lane);
  barrier();
  if (a.inv_freq != nullptr) rotate_head(head, a, pos, lane);
  if (!is_key) return;
  barrier();
  const int32_t* blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[row]} * a.step.max_blocks;
  const uint64_t at = kv_offset(a.cache, blocks, h, static_cast<uint32_t>(pos));
  const float* value = a.v + (uint64_t{row} * a.cache.n_kv_heads + h) * head_dim;
  for (uint32_t i = lane; i < head_dim; i += 32) {
    Kv::store(a.cache.keys + at, i, head[i]);
    Kv::store(a.cache.values + at, i, value[i]);
  }
}

constexpr uint32_t kAttentionThreads = kPiecePositions;
constexpr uint32_t kMaxQueryHeads = 8;  // of a KV head that a block serves

// What a block knows of its query heads: running maxima and sums of exponentials.
struct AttentionPlace {
  uint32_t row, kv_head, first_head, n_heads;
  uint32_t first_pos, end_pos;  // that the row sees
  const int32_t* blocks;
};

template <uint32_t kHeads>
RZ_DEVICE AttentionPlace attention_place(const AttentionArgs& a, uint32_t row) {
  AttentionPlace p{};
  const uint32_t n_rep = a.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kHeads - 1) / kHeads;
  p.row = row;
  p.kv_head = block_x() / n_parts;
  const uint32_t part = block_x() % n_parts;
  p.first_head = p.kv_head * n_rep + part * kHeads;
  p.n_heads = n_rep - part * kHeads < kHeads ? n_rep - part * kHeads : kHeads;
  const auto pos = static_cast<uint32_t>(a.step.positions[row]);
  p.end_pos = pos + 1;
  p.first_pos = a.window > 0 && p.end_pos > a.window ? p.end_pos - a.window : 0;
  p.blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[row]} * a.step.max_blocks;
  return p;
}

// The scores of one position for all query heads of the block; -infinity where the row does not see it.
template <class Kv, uint32_t kHeads>
RZ_DEVICE void score_position(const AttentionArgs& a, const AttentionPlace& p, const float* q, uint32_t pos,
                              float* scores) {
  float sums[kHeads] = {};
  const bool is_seen = pos >= p.first_pos && pos < p.end_pos;
  if (is_seen) {
    const uint8_t* key = a.cache.keys + kv_offset(a.cache, p.blocks, p.kv_head, pos);
    for (uint32_t i = 0; i < a.cache.head_dim; i += 8) {
      const uint32_t n = a.cache.head_dim - i < 8 ? a.cache.head_dim - i : 8;
      float x[8];
      Kv::load8(key, i, n, x);
      for (uint32_t h = 0; h < kHeads; ++h) {
        for (uint32_t j = 0; j < 8; ++j) sums[h] = fmaf(q[h * kMaxHeadDim + i + j], x[j], sums[h]);
      }
    }
  }
  for (uint32_t h = 0; h < kHeads; ++h) {
    float s = sums[h] * a.scale;
    if (a.softcap > 0) s = a.softcap * tanhf(s / a.softcap);
    scores[h * kPiecePositions + thread_idx()] = is_seen ? s : -INFINITY;
  }
}

// Scores of one piece become their weights; a warp. `factor` is what the sums so far shrink by.
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
template <class Kv, uint32_t kHeads>
RZ_DEVICE void add_values(const AttentionArgs& a, const AttentionPlace& p, uint32_t first, const float* weights,
                          const float* factors, float (&sums)[2][kHeads]) {
  for (uint32_t j = 0; j < 2; ++j) {
    const uint32_t d = thread_idx() + j * kAttentionThreads;
    if (d >= a.cache.head_dim) continue;
    for (uint32_t h = 0; h < kHeads; ++h) sums[j][h] *= factors[h];
    const uint32_t begin = first > p.first_pos ? first : p.first_pos;
    const uint32_t end = first + kPiecePositions < p.end_pos ? first + kPiecePositions : p.end_pos;
    for (uint32_t pos = begin; pos < end; ++pos) {
      const float x = Kv::value(a.cache.values + kv_offset(a.cache, p.blocks, p.kv_head, pos), d);
      for (uint32_t h = 0; h < kHeads; ++h) {
        sums[j][h] = fmaf(weights[h * kPiecePositions + pos - first], x, sums[j][h]);
      }
    }
  }
}

// Attention reduces pieces of kPiecePositions, aligned to their multiples, one after the other: what a piece gives, and
// how pieces meet, does not depend on how many there are.
template <class Kv, uint32_t kHeads>
RZ_KERNEL void attention_kernel(AttentionArgs a) {
  RZ_SHARED(float, q, kHeads* kMaxHeadDim);
  RZ_SHARED(float, scores, kHeads* kPiecePositions);
  RZ_SHARED(float, maxima, kHeads);
  RZ_SHARED(float, factors, kHeads);
  RZ_SHARED(float, totals, kHeads);
  const uint32_t row = block_y(), thread = thread_idx(), head_dim = a.cache.head_dim;
  if (row >= *a.step.n_rows) return;
  const AttentionPlace p = attention_place<kHeads>(a, row);
  const float* from = a.q + (uint64_t{row} * a.n_heads + p.first_head) * head_dim;
  for (uint32_t i = thread; i < kHeads * kMaxHeadDim; i += kAttentionThreads) {
    const uint32_t h = i / kMaxHeadDim, d = i % kMaxHeadDim;
    q[i] = h < p.n_heads && d < head_dim ? from[h * head_dim + d] : 0.0f;
  }
  if (thread < kHeads) {
    maxima[thread] = -INFINITY;
    totals[thread] = 0;
  }
  barrier();
  // A thread has two dimensions of every query head.
  float sums[2][kHeads] = {};
  for (uint32_t first = p.first_pos / kPiecePositions * kPiecePositions; first < p.end_pos; first += kPiecePositions) {
    score_position<Kv, kHeads>(a, p, q, first + thread, scores);
    barrier();
    for (uint32_t h = thread / 32; h < kHeads; h += kAttentionThreads / 32) {
      weigh_piece(scores + h * kPiecePositions, maxima + h, totals + h, factors + h, thread % 32);
    }
    barrier();
    add_values<Kv, kHeads>(a, p, first, scores, factors, sums);
    barrier();
  }
  float* out = a.out + (uint64_t{row} * a.n_heads + p.first_head) * head_dim;
  for (uint32_t j = 0; j < 2; ++j) {
    const uint32_t d = thread + j * kAttentionThreads;
    if (d >= head_dim) continue;
    for (uint32_t h = 0; h < p.n_heads; ++h) out[h * head_dim + d] = sums[j][h] / totals[h];
  }
}

void rope_store(const RopeStoreArgs& a, uint32_t max_rows, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    launch(rope_store_kernel<decltype(kv)>, {a.n_heads + a.cache.n_kv_heads, max_rows}, 32, a, stream);
  });
}

template <class Kv>
void attend(const AttentionArgs& a, uint32_t max_rows, Stream stream) {
  const uint32_t n_rep = a.n_heads / a.cache.n_kv_heads, n_parts = (n_rep + kMaxQueryHeads - 1) / kMaxQueryHeads;
  const Grid grid{a.cache.n_kv_heads * n_parts, max_rows};
  if (n_rep == 1) return launch(attention_kernel<Kv, 1>, grid, kAttentionThreads, a, stream);
  if (n_rep == 2) return launch(attention_kernel<Kv, 2>, grid, kAttentionThreads, a, stream);
  if (n_rep <= 4) return launch(attention_kernel<Kv, 4>, grid, kAttentionThreads, a, stream);
  launch(attention_kernel<Kv, kMaxQueryHeads>, grid, kAttentionThreads, a, stream);
}

void attention(const AttentionArgs& a, uint32_t max_rows, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) { attend<decltype(kv)>(a, max_rows, stream); });
}
