// Tensor-core attention shared by prompt and decode rows. Products keep nearly the accuracy of F32: keys and values are
// used exactly as the cache stores them; queries and softmax weights are sums of two 16-bit numbers, which loses 2^-22
// of a value with F16 and 2^-17 with bf16. Tensor cores sum in F32, and on Hopper truncate instead of rounding
// (linear_split.inl): over the 256 additions of a prompt's cut of 2,048 positions up to 3e-5 of the sum of weights,
// more in longer cuts. Powers of two keep values within F16's range: a head's queries are scaled to a maximum of 2^14
// to 2^15, weights by 2^15 (as is the sum of weights).

constexpr float kWeightScale = 32768.0f;

// Two numbers as 16-bit pairs: rounded values, and rounded remainders.
struct Pairs {
  uint32_t high, low;
};
RZ_DEVICE uint32_t pair_of(uint16_t first, uint16_t second) {
  return first | static_cast<uint32_t>(second) << 16;
}
struct Halves {
  RZ_DEVICE static Pairs split(float x, float y) {
    const uint16_t hx = float_to_half(x), hy = float_to_half(y);
    return {pair_of(hx, hy), pair_of(float_to_half(x - half_to_float(hx)), float_to_half(y - half_to_float(hy)))};
  }
  RZ_DEVICE static void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma_half_k16(c, a, b);
  }
};
struct Bfloats {
  RZ_DEVICE static Pairs split(float x, float y) {
    const uint16_t hx = float_to_bfloat(x), hy = float_to_bfloat(y);
    return {pair_of(hx, hy),
            pair_of(float_to_bfloat(x - bfloat_to_float(hx)), float_to_bfloat(y - bfloat_to_float(hy)))};
  }
  RZ_DEVICE static void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma_bfloat_k16(c, a, b);
  }
};

// Chunks of 8 elements of a row, as the 4 words that products take, in two steps so that loads can go ahead. Chunk c of
// keys is dimensions 8c to 8c + 7; element j of chunk c of values is dimension value_dim(c, j). Elements beyond the
// head are zero. kIsStored: the words are those in memory.
template <class T>
struct PlainChunks {
  static constexpr bool kIsStored = true;
  using Keys = T;
  using Values = T;
  using Raw = Words4;
  RZ_DEVICE static Raw load_keys(const KvView& cache, const uint8_t* row, uint32_t c) {
    return 16 * c < cache.row_bytes ? load_words4(reinterpret_cast<const uint32_t*>(row + 16 * c)) : Words4{};
  }
  RZ_DEVICE static Raw load_values(const KvView& cache, const uint8_t* row, uint32_t c) {
    return load_keys(cache, row, c);
  }
  RZ_DEVICE static Words4 keys(const Raw& raw) { return raw; }
  RZ_DEVICE static Words4 values(const Raw& raw) { return raw; }
  RZ_DEVICE static uint32_t value_dim(uint32_t c, uint32_t j) { return 8 * c + j; }
};

// Chunk c of a row of codes, one byte each.
RZ_DEVICE Words2 load_codes(const KvView& cache, const uint8_t* row, uint32_t c) {
  return 8 * c < cache.row_bytes ? load_words2(reinterpret_cast<const uint32_t*>(row + 8 * c)) : Words2{};
}

// Codes are exact in F16 and in bf16. Their scales, one per position and 32 dimensions, multiply the sums of 32
// products with keys; for values they multiply the weights before the products, in bf16 for its range. Elements 0 to 3
// and 4 to 7 of a chunk of values have one scale each, the same for all chunks that are multiplied together.
struct Q8Chunks {
  static constexpr bool kIsStored = false;
  using Keys = Halves;
  using Values = Bfloats;
  using Raw = Words2;
  RZ_DEVICE static Raw load_keys(const KvView& cache, const uint8_t* row, uint32_t c) {
    return load_codes(cache, row, c);
  }
  RZ_DEVICE static Raw load_values(const KvView& cache, const uint8_t* row, uint32_t c) {
    Words2 raw{};
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t dim = value_dim(c, 4 * i);
      if (dim < cache.row_bytes) raw.word[i] = *reinterpret_cast<const uint32_t*>(row + dim);
    }
    return raw;
  }
  RZ_DEVICE static Words4 keys(const Raw& raw) {
    Words4 pairs;
    for (uint32_t i = 0; i < 4; ++i) pairs.word[i] = codes_to_halves(raw.word[i / 2] >> (16 * (i % 2)));
    return pairs;
  }
  RZ_DEVICE static Words4 values(const Raw& raw) {
    Words4 pairs;
    for (uint32_t i = 0; i < 4; ++i) pairs.word[i] = codes_to_bfloats(raw.word[i / 2] >> (16 * (i % 2)));
    return pairs;
  }
  RZ_DEVICE static uint32_t value_dim(uint32_t c, uint32_t j) {
    return 64 * (c / 8) + 32 * (j / 4) + 4 * (c % 8) + j % 4;
  }
};

// Spreads four signed nibbles of the lower half of a word to one byte each.
RZ_DEVICE uint32_t spread_nibbles(uint32_t packed) {
  const uint32_t codes = (packed & 0xfu) | (packed & 0xf0u) << 4 | (packed & 0xf00u) << 8 | (packed & 0xf000u) << 12;
  // Extends the sign, bit 3, to the higher bits.
  return codes | (codes & 0x08080808u) * 0x1eu;
}

// Q8Chunks for nibbles.
struct Q4Chunks : Q8Chunks {
  RZ_DEVICE static Raw load_keys(const KvView& cache, const uint8_t* row, uint32_t c) {
    if (4 * c >= cache.row_bytes) return Words2{};
    const uint32_t packed = *reinterpret_cast<const uint32_t*>(row + 4 * c);
    return Words2{{spread_nibbles(packed), spread_nibbles(packed >> 16)}};
  }
  RZ_DEVICE static Raw load_values(const KvView& cache, const uint8_t* row, uint32_t c) {
    Words2 raw{};
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t at = value_dim(c, 4 * i) / 2;
      if (at < cache.row_bytes) raw.word[i] = spread_nibbles(*reinterpret_cast<const uint16_t*>(row + at));
    }
    return raw;
  }
};

// E4M3 is exact in F16.
struct F8Chunks {
  static constexpr bool kIsStored = false;
  using Keys = Halves;
  using Values = Halves;
  using Raw = Words2;
  RZ_DEVICE static Raw load_keys(const KvView& cache, const uint8_t* row, uint32_t c) {
    return load_codes(cache, row, c);
  }
  RZ_DEVICE static Raw load_values(const KvView& cache, const uint8_t* row, uint32_t c) {
    return load_keys(cache, row, c);
  }
  RZ_DEVICE static Words4 keys(const Raw& raw) {
    Words4 pairs;
    for (uint32_t i = 0; i < 4; ++i) pairs.word[i] = f8_to_halves(raw.word[i / 2] >> (16 * (i % 2)));
    return pairs;
  }
  RZ_DEVICE static Words4 values(const Raw& raw) { return keys(raw); }
  RZ_DEVICE static uint32_t value_dim(uint32_t c, uint32_t j) { return 8 * c + j; }
};

template <class Kv>
struct ChunksOf;
template <>
struct ChunksOf<KvF16> : PlainChunks<Halves> {};
template <>
struct ChunksOf<KvBF16> : PlainChunks<Bfloats> {};
template <>
struct ChunksOf<KvQ8_0> : Q8Chunks {};
template <>
struct ChunksOf<KvF8> : F8Chunks {};
template <>
struct ChunksOf<KvQ4_0> : Q4Chunks {};

// Scales at one position, two per word.
template <uint32_t kDim>
struct KvScales {
  uint32_t word[kDim / 64];

  RZ_DEVICE void load(const uint8_t* from) {
    const auto* words = reinterpret_cast<const uint32_t*>(from);
    if constexpr (kDim == 64) {
      word[0] = words[0];
    } else if constexpr (kDim == 128) {
      const Words2 w = load_words2(words);
      for (uint32_t i = 0; i < 2; ++i) word[i] = w.word[i];
    } else {
      const Words4 w = load_words4(words);
      for (uint32_t i = 0; i < 4; ++i) word[i] = w.word[i];
    }
  }
  RZ_DEVICE float at(uint32_t group) const {
    return half_to_float(static_cast<uint16_t>(word[group / 2] >> (16 * (group % 2))));
  }
};

// Element j of two rows' chunks, as a pair.
RZ_DEVICE uint32_t column_of(const Words4& first, const Words4& second, uint32_t j) {
  const uint32_t x = first.word[j / 2], y = second.word[j / 2];
  return j % 2 == 0 ? (x & 0xffffu) | y << 16 : x >> 16 | (y & 0xffff0000u);
}

// The power of two that scales `max` to [2^14, 2^15), and its inverse.
struct PowerOfTwo {
  float up, down;
};
RZ_DEVICE PowerOfTwo query_scale(float max) {
  uint32_t exponent = float_bits(max) >> 23;
  exponent = exponent < 15 ? 15 : exponent > 254 ? 254 : exponent;
  return {float_of_bits((268 - exponent) << 23), float_of_bits((exponent - 14) << 23)};
}

// The last position that a prompt row attends to.
RZ_DEVICE uint32_t last_seen(const AttentionArgs& a, uint32_t row) {
  const auto pos = static_cast<uint32_t>(a.step.positions[row]);
  if ((a.window & kBidirectional) == 0) return pos;
  const StepSequence seq = a.step.seqs[a.step.seq_of_row[row]];
  return last_visible(pos, static_cast<uint32_t>(a.step.positions[seq.first_row + seq.n_rows - 1]), a.window);
}

// ALiBi's term in a row's scores.
struct Slope {
  float of_head;
  int32_t row_pos;

  RZ_DEVICE float added(float score, uint32_t pos) const {
    return of_head == 0 ? score : fmaf(-of_head, fabsf(static_cast<float>(static_cast<int32_t>(pos) - row_pos)), score);
  }
};

RZ_DEVICE Slope slope_of(const AttentionArgs& a, uint32_t row, uint32_t head) {
  return {a.slopes == nullptr ? 0.0f : a.slopes[head], a.step.positions[row]};
}

RZ_DEVICE float capped(float score, float softcap) {
  return softcap > 0 ? softcap * tanhf(score / softcap) : score;
}
// The sink's term in a head's sum of e^(score - max).
RZ_DEVICE float sink_weight(const AttentionArgs& a, uint32_t head, float max) {
  return a.sinks == nullptr ? 0.0f : expf(a.sinks[head] - max);
}
// `max` is a running maximum that may still be -infinity.
RZ_DEVICE float weight_of(float score, float max) {
  return max == -INFINITY ? 0.0f : expf(score - max);
}
