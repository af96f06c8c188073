// The paged cache: addresses of a position's vectors, and their storage in each type.

// The start of a page, in units, and a row in it.
struct KvPlace {
  uint32_t page, row;
};
RZ_DEVICE KvPlace kv_place(const KvView& cache, const int32_t* blocks, uint32_t kv_head, uint32_t pos) {
  const uint32_t block = pos / cache.block_tokens;
  const uint32_t page =
      static_cast<uint32_t>(blocks[block]) * (cache.block_bytes / kPageUnit) + kv_head * (cache.page_bytes / kPageUnit);
  return {page, pos - block * cache.block_tokens};
}
template <class Byte>
RZ_DEVICE Byte* kv_row(const KvView& cache, Byte* plane, const KvPlace& place) {
  return plane + uint64_t{place.page} * kPageUnit + place.row * cache.row_bytes;
}
template <class Byte>
RZ_DEVICE Byte* kv_scales(const KvView& cache, Byte* plane, const KvPlace& place) {
  return plane + uint64_t{place.page} * kPageUnit + cache.block_tokens * cache.row_bytes +
         place.row * cache.scale_bytes;
}

// kHasChunks: tensor cores multiply the type (attention_fragments.inl). kHasScales: 32 elements share one. store:
// called by all lanes of a warp, for consecutive dimensions up to the last of n_stored; x is 0 beyond the head's own.
struct KvF32 {
  static constexpr bool kHasChunks = false;
  RZ_DEVICE static uint32_t n_stored(const KvView& cache) { return cache.row_bytes / 4; }
  RZ_DEVICE static float value(const KvView& cache, const uint8_t* plane, const KvPlace& place, uint32_t i) {
    return reinterpret_cast<const float*>(kv_row(cache, plane, place))[i];
  }
  RZ_DEVICE static void store(const KvView& cache, uint8_t* plane, const KvPlace& place, uint32_t i, float x) {
    reinterpret_cast<float*>(kv_row(cache, plane, place))[i] = x;
  }
};
struct KvF16 {
  static constexpr bool kHasChunks = true;
  static constexpr bool kHasScales = false;
  RZ_DEVICE static uint32_t n_stored(const KvView& cache) { return cache.row_bytes / 2; }
  RZ_DEVICE static void store(const KvView& cache, uint8_t* plane, const KvPlace& place, uint32_t i, float x) {
    reinterpret_cast<uint16_t*>(kv_row(cache, plane, place))[i] = float_to_half(x);
  }
};
struct KvBF16 {
  static constexpr bool kHasChunks = true;
  static constexpr bool kHasScales = false;
  RZ_DEVICE static uint32_t n_stored(const KvView& cache) { return cache.row_bytes / 2; }
  RZ_DEVICE static void store(const KvView& cache, uint8_t* plane, const KvPlace& place, uint32_t i, float x) {
    reinterpret_cast<uint16_t*>(kv_row(cache, plane, place))[i] = float_to_bfloat(x);
  }
};
struct KvF8 {
  static constexpr bool kHasChunks = true;
  static constexpr bool kHasScales = false;
  RZ_DEVICE static uint32_t n_stored(const KvView& cache) { return cache.row_bytes; }
  RZ_DEVICE static void store(const KvView& cache, uint8_t* plane, const KvPlace& place, uint32_t i, float x) {
    kv_row(cache, plane, place)[i] = float_to_f8_e4m3(x);
  }
};
// BlockQ8_0 of quant/blocks.h with separate scales.
struct KvQ8_0 {
  static constexpr bool kHasChunks = true;
  static constexpr bool kHasScales = true;
  RZ_DEVICE static uint32_t n_stored(const KvView& cache) { return cache.scale_bytes / 2 * 32; }
  RZ_DEVICE static void store(const KvView& cache, uint8_t* plane, const KvPlace& place, uint32_t i, float x) {
    const uint16_t d = float_to_half(warp_max(fabsf(x)) / 127.0f);
    const float rounded = half_to_float(d);
    const float scaled = rounded > 0 ? fminf(fmaxf(x * (1.0f / rounded), -127.0f), 127.0f) : 0.0f;
    const auto whole = static_cast<int32_t>(scaled);  // ties round away from zero, as in encode.cpp
    const int32_t code = whole + (fabsf(scaled - static_cast<float>(whole)) < 0.5f ? 0 : scaled < 0 ? -1 : 1);
    if (i % 32 == 0) reinterpret_cast<uint16_t*>(kv_scales(cache, plane, place))[i / 32] = d;
    if (i < cache.row_bytes) kv_row(cache, plane, place)[i] = static_cast<uint8_t>(code);
  }
};

// BlockQ4_0 with separate scales and signed codes, two neighbours per byte.
struct KvQ4_0 {
  static constexpr bool kHasChunks = true;
  static constexpr bool kHasScales = true;
  RZ_DEVICE static uint32_t n_stored(const KvView& cache) { return cache.scale_bytes / 2 * 32; }
  // The element of largest magnitude, the first on ties, becomes -8.
  RZ_DEVICE static void store(const KvView& cache, uint8_t* plane, const KvPlace& place, uint32_t i, float x) {
    const float max = warp_max(fabsf(x));
    const auto lane = static_cast<float>(i % 32);
    const float first = -warp_max(fabsf(x) == max ? -lane : -32.0f);
    const float sign = warp_max(lane == first ? (x < 0 ? -1.0f : 1.0f) : -2.0f);
    const uint16_t d = float_to_half(sign * max / -8.0f);
    const float rounded = half_to_float(d);
    const float scaled = rounded != 0 ? fminf(fmaxf(x * (1.0f / rounded), -8.0f), 7.0f) : 0.0f;
    const auto whole = static_cast<int32_t>(scaled);
    const int32_t code = whole + (fabsf(scaled - static_cast<float>(whole)) < 0.5f ? 0 : scaled < 0 ? -1 : 1);
    const auto next = static_cast<int32_t>(warp_exchange(static_cast<float>(code), 1));
    if (i % 32 == 0) reinterpret_cast<uint16_t*>(kv_scales(cache, plane, place))[i / 32] = d;
    if (i % 2 == 0 && i / 2 < cache.row_bytes) {
      kv_row(cache, plane, place)[i / 2] = static_cast<uint8_t>((code & 15) | (next & 15) << 4);
    }
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
    case KvType::kF8:
      return body(KvF8{});
    case KvType::kQ4_0:
      return body(KvQ4_0{});
  }
}
