// Norms of queries and keys, rotary embedding, and cache writes of keys and values.

RZ_DEVICE void normalize_head(float* head, uint32_t head_dim, const float* weight, float eps, uint32_t lane) {
  float power = 0;
  for (uint32_t i = lane; i < head_dim; i += 32) power = fmaf(head[i], head[i], power);
  const float scale = 1.0f / sqrtf(warp_sum(power) / static_cast<float>(head_dim) + eps);
  for (uint32_t i = lane; i < head_dim; i += 32) head[i] = head[i] * scale * weight[i];
}

// frequency * pos modulo a turn. Its F32 product would be off by 4e-3 at position 100,000, and F64 is slow on most
// GPUs, so the product and a turn are each kept as two numbers. `turns` has at most 21 bits for positions up to 2^23,
// and the high part of a turn is a multiple of 2^-21, so the remainder of `high` is exact; the rest is below 0.5 and
// loses 2^-25, and the sum rounds once, by at most 2^-23: as much as an exact angle converted to F32.
RZ_DEVICE float angle_of(float frequency, float pos) {
  constexpr float kTurnHigh = 6.2831854820251465f, kTurnLow = -1.7484555e-7f;
  const float high = frequency * pos, low = fmaf(frequency, pos, -high);
  const float turns = rintf(high * 0.15915494309189535f);
  return fmaf(-turns, kTurnHigh, high) + fmaf(-turns, kTurnLow, low);
}

// Args: RopeStoreArgs or LatentStoreArgs.
template <class Args>
RZ_DEVICE void rotate_head(float* head, const Args& a, int32_t pos, uint32_t lane) {
  const uint32_t half = a.op.n_rot / 2;
  for (uint32_t i = lane; i < half; i += 32) {
    const float angle = angle_of(a.inv_freq[i], static_cast<float>(pos));
    const float c = cosf(angle) * a.op.rope_scale, s = sinf(angle) * a.op.rope_scale;
    const float x = head[i], y = head[i + half];
    head[i] = x * c - y * s;
    head[i + half] = x * s + y * c;
  }
}

// Multiplies a query by the temperature's factor at its position.
RZ_DEVICE void apply_temperature(float* head, uint32_t head_dim, const Temperature& temperature, int32_t pos,
                                 uint32_t lane) {
  const uint32_t n_steps = temperature.n_steps(static_cast<uint32_t>(pos));
  const float factor = 1.0f + temperature.slope * logf(1.0f + static_cast<float>(n_steps));
  for (uint32_t i = lane; temperature.is_on() && i < head_dim; i += 32) head[i] *= factor;
}

// Clamps to [-limit, limit]; 0: no limit.
RZ_DEVICE float clipped(float x, float limit) {
  return limit > 0 ? fminf(fmaxf(x, -limit), limit) : x;
}

// A lane clips, normalizes and scales the same dimensions; it also rotates others.
RZ_DEVICE void prepare_head(float* head, const RopeStoreArgs& a, const float* norm, int32_t pos, uint32_t lane) {
  const uint32_t head_dim = a.cache.head_dim;
  for (uint32_t i = lane; a.op.clip > 0 && i < head_dim; i += 32) head[i] = clipped(head[i], a.op.clip);
  if (norm != nullptr && !a.op.norms_last) normalize_head(head, head_dim, norm, a.op.norm_eps, lane);
  barrier();
  if (a.inv_freq != nullptr) rotate_head(head, a, pos, lane);
  barrier();
  if (norm != nullptr && a.op.norms_last) normalize_head(head, head_dim, norm, a.op.norm_eps, lane);
}

// One warp per head: the query heads, then the key heads, which also store their key and value.
template <class Kv>
RZ_KERNEL void rope_store_kernel(RopeStoreArgs a) {
  const uint32_t lane = thread_idx(), row = block_x(), head_dim = a.cache.head_dim;
  if (row >= *a.step.n_rows) return;
  const bool is_key = block_y() >= a.op.n_heads;
  const uint32_t h = is_key ? block_y() - a.op.n_heads : block_y();
  float* head = is_key ? a.k + (uint64_t{row} * a.cache.n_kv_heads + h) * head_dim
                       : a.q + (uint64_t{row} * a.op.n_heads + h) * head_dim;
  const float* norm = is_key ? a.k_norm : a.q_norm;
  const int32_t pos = a.step.positions[row];
  prepare_head(head, a, norm, pos, lane);
  if (!is_key) {
    apply_temperature(head, head_dim, a.op.temperature, pos, lane);
    return;
  }
  const int32_t* blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[row]} * a.step.max_blocks;
  const KvPlace place = kv_place(a.cache, blocks, h, static_cast<uint32_t>(pos));
  for (uint32_t i = lane; i < Kv::n_stored(a.cache); i += 32) {
    Kv::store(a.cache, a.cache.keys, place, i, i < head_dim ? head[i] : 0.0f);
  }
  if (a.v == nullptr) return;
  const float* value = a.v + (uint64_t{row} * a.cache.n_kv_heads + h) * head_dim;
  for (uint32_t i = lane; i < Kv::n_stored(a.cache); i += 32) {
    Kv::store(a.cache, a.cache.values, place, i, i < head_dim ? clipped(value[i], a.op.clip) : 0.0f);
  }
}

// One warp per query head, whose last dimensions are rotated; and one for the cached key.
template <class Kv>
RZ_KERNEL void latent_store_kernel(LatentStoreArgs a) {
  const uint32_t lane = thread_idx(), row = block_x(), key_dim = a.op.latent_dim + a.op.n_rot, h = block_y();
  if (row >= *a.step.n_rows) return;
  const int32_t pos = a.step.positions[row];
  if (h < a.op.n_heads) {
    const uint64_t head = uint64_t{row} * a.op.n_heads + h;
    const float* from = a.q + (head + 1) * a.op.query_dim - a.op.n_rot;
    float* rotated = a.query + head * key_dim + a.op.latent_dim;
    for (uint32_t i = lane; i < a.op.n_rot; i += 32) rotated[i] = from[i];
    barrier();
    if (a.inv_freq != nullptr) rotate_head(rotated, a, pos, lane);
    barrier();
    apply_temperature(a.query + head * key_dim, key_dim, a.op.temperature, pos, lane);
    return;
  }
  float* key = a.latent + uint64_t{row} * key_dim;
  normalize_head(key, a.op.latent_dim, a.norm, a.op.norm_eps, lane);
  if (a.inv_freq != nullptr) rotate_head(key + a.op.latent_dim, a, pos, lane);
  barrier();
  const int32_t* blocks = a.step.block_tables + uint64_t{a.step.seq_of_row[row]} * a.step.max_blocks;
  const KvPlace place = kv_place(a.cache, blocks, 0, static_cast<uint32_t>(pos));
  for (uint32_t i = lane; i < Kv::n_stored(a.cache); i += 32) {
    Kv::store(a.cache, a.cache.keys, place, i, i < key_dim ? key[i] : 0.0f);
  }
}

void latent_store(const LatentStoreArgs& a, uint32_t max_rows, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    launch(latent_store_kernel<decltype(kv)>, {max_rows, a.op.n_heads + 1}, 32, a, stream);
  });
}

void rope_store(const RopeStoreArgs& a, uint32_t max_rows, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    launch(rope_store_kernel<decltype(kv)>, {max_rows, a.op.n_heads + (a.k == nullptr ? 0 : a.cache.n_kv_heads)}, 32, a,
           stream);
  });
}
