// fit(): encodes prepared values to blocks of each type. The block is zeroed in advance.

// Fractions of a group's peak to try as scales: one over the code that the peak gets.
struct StartsQ4_0 {
  static constexpr float kParts[] = {-1 / 8.0f, -1 / 8.7f, -1 / 7.3f, 1 / 7.0f, 1 / 8.0f};
  static constexpr int kRepeats = 2;
};
struct StartsQ5_0 {
  static constexpr float kParts[] = {-1 / 16.0f, -1 / 16.6f, -1 / 15.4f, 1 / 15.4f};
  static constexpr int kRepeats = 1;
};
struct StartsQ8_0 {
  static constexpr float kParts[] = {1 / 127.0f};
  static constexpr int kRepeats = 1;
};
struct StartsQ3_K {
  static constexpr float kParts[] = {-1 / 4.0f, -1 / 4.6f, -1 / 3.4f, 1 / 3.0f, 1 / 3.7f};
  static constexpr int kRepeats = 2;
};
struct StartsQ6_K {
  static constexpr float kParts[] = {-1 / 32.0f, -1 / 32.6f, -1 / 31.4f, 1 / 31.4f};
  static constexpr int kRepeats = 1;
};
struct StartsIq4 {
  static constexpr float kParts[] = {-1 / 127.0f, -1 / 140.0f, -1 / 113.0f, 1 / 113.0f,
                                     1 / 125.0f,  -1 / 104.0f, 1 / 98.0f};
  static constexpr int kRepeats = 2;
};
struct StartsTernary {
  static constexpr float kParts[] = {1.0f, 0.75f, 0.55f, 0.4f, 0.3f};
  static constexpr int kRepeats = 8;
};
struct StartsQ2_0 {
  static constexpr float kParts[] = {0.5f, 0.42f, 0.35f, 0.28f, -0.9f, -0.5f, -0.42f, -0.35f, 1.0f};
  static constexpr int kRepeats = 4;
};
// Fractions of the distance from the lowest value to the highest.
struct StartsRange4 {
  static constexpr float kParts[] = {1.0f, 0.95f, 0.9f, 0.85f, 1.05f};
  static constexpr int kRepeats = 2;
};
struct StartsRange5 {
  static constexpr float kParts[] = {1.0f, 0.96f, 0.92f, 1.03f};
  static constexpr int kRepeats = 1;
};
struct StartsRange2 {
  static constexpr float kParts[] = {1.0f, 0.9f, 0.8f, 0.7f, 0.6f, 1.15f};
  static constexpr int kRepeats = 3;
};
// For points: fractions of the scale that maps the largest value to the largest level.
struct StartsIq2 {
  static constexpr float kParts[] = {1.0f, 0.85f, 0.7f, 0.58f};
  static constexpr int kRepeats = 2;
};
struct StartsIq3 {
  static constexpr float kParts[] = {1.0f, 0.92f, 0.84f, 0.76f};
  static constexpr int kRepeats = 2;
};
// For IQ1: fractions of the root mean square.
struct StartsIq1 {
  static constexpr float kParts[] = {0.95f, 1.2f, 1.5f, 1.9f};
  static constexpr int kRepeats = 3;
};

// Codes of kVecs * 8 values, minus `low`.
template <class Levels, int kVecs>
RZ_LANES void put_codes(const V8* x, float inverse_scale, int low, int32_t* codes) {
  for (int i = 0; i < kVecs; ++i) {
    const V8 q = Levels::nearest(x[i] * inverse_scale) - static_cast<float>(low);
    store_integers(q, codes + 8 * i);
  }
}
template <class Levels, int kVecs>
RZ_LANES void put_numbers(const V8* x, float inverse_scale, int32_t* codes) {
  for (int i = 0; i < kVecs; ++i) {
    const V8 q = Levels::number(x[i] * inverse_scale);
    store_integers(q, codes + 8 * i);
  }
}

// 32 4-bit codes, elements j and j + 16 in a byte; and the fifth bits of 32.
RZ_LANES void put_nibbles(const int32_t* codes, uint8_t* qs) {
  for (int j = 0; j < 16; ++j) qs[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + 16] << 4));
}
RZ_LANES void put_fifth_bits(const int32_t* codes, uint8_t* qh) {
  for (int i = 0; i < 32; ++i) qh[i / 8] |= static_cast<uint8_t>(((codes[i] >> 4) & 1) << (i % 8));
}
// Two bits of each of 256 codes, as in Q2_K: a byte holds elements 32 apart.
RZ_LANES void put_pairs_of_bits(const int32_t* codes, uint8_t* qs) {
  for (int h = 0; h < 2; ++h) {
    for (int l = 0; l < 32; ++l) {
      const int32_t* at = codes + 128 * h + l;
      qs[32 * h + l] = static_cast<uint8_t>((at[0] & 3) | (at[32] & 3) << 2 | (at[64] & 3) << 4 | (at[96] & 3) << 6);
    }
  }
}

// Types with one scale per small block.
template <class Codec, int kElems>
RZ_LANES float block_scale(const Input<kElems>& in, Half& d) {
  return inverse(in.stored(fit_scale<Codec>(Codec::unit(in.x, in.w)).scale, d));
}

RZ_LANES void fit(const Input<32>& in, BlockQ4_0& b) {
  int32_t codes[32];
  put_codes<Steps<-8, 7>, 4>(in.x, block_scale<PlainCodec<Steps<-8, 7>, 4, StartsQ4_0>>(in, b.d), -8, codes);
  put_nibbles(codes, b.qs);
}
RZ_LANES void fit(const Input<32>& in, BlockQ5_0& b) {
  int32_t codes[32];
  put_codes<Steps<-16, 15>, 4>(in.x, block_scale<PlainCodec<Steps<-16, 15>, 4, StartsQ5_0>>(in, b.d), -16, codes);
  put_nibbles(codes, b.qs);
  put_fifth_bits(codes, b.qh);
}
RZ_LANES void fit(const Input<32>& in, BlockQ8_0& b) {
  int32_t codes[32];
  put_codes<Steps<-127, 127>, 4>(in.x, block_scale<PlainCodec<Steps<-127, 127>, 4, StartsQ8_0>>(in, b.d), 0, codes);
  for (int i = 0; i < 32; ++i) b.qs[i] = static_cast<int8_t>(codes[i]);
}
RZ_LANES void fit(const Input<32>& in, BlockIQ4_NL& b) {
  int32_t codes[32];
  put_numbers<Iq4Steps, 4>(in.x, block_scale<PlainCodec<Iq4Steps, 4, StartsIq4>>(in, b.d), codes);
  put_nibbles(codes, b.qs);
}

template <int kMax, class Starts>
RZ_LANES void fit_free_range(const Input<32>& in, Half& d_bits, Half& m_bits, int32_t* codes) {
  const auto range = fit_range<kMax, true, Starts>(range_group<4, true>(in.x, in.w));
  const float d = in.stored(range.scale, d_bits), m = in.stored(-range.min, m_bits);
  for (int i = 0; i < 4; ++i) {
    const V8 q = range_code<kMax, 4>(in.x[i], -m, inverse(d));
    store_integers(q, codes + 8 * i);
  }
}
RZ_LANES void fit(const Input<32>& in, BlockQ4_1& b) {
  int32_t codes[32];
  fit_free_range<15, StartsRange4>(in, b.d, b.m, codes);
  put_nibbles(codes, b.qs);
}
RZ_LANES void fit(const Input<32>& in, BlockQ5_1& b) {
  int32_t codes[32];
  fit_free_range<31, StartsRange5>(in, b.d, b.m, codes);
  put_nibbles(codes, b.qs);
  put_fifth_bits(codes, b.qh);
}

// The scale is a power of two: the best of three around the one in the specification (OCP Microscaling Formats 1.0,
// section 6.3), which maps the largest value to the largest level.
RZ_LANES void fit(const Input<32>& in, BlockMXFP4& b) {
  const Group<4> group = PlainCodec<E2M1Steps, 4, StartsIq4>::unit(in.x, in.w);
  b.e = 0;
  float best_scale = 0;
  if (group.peak != 0) {
    const int unit_exponent = static_cast<int>(std::bit_cast<uint32_t>(in.unit) >> 23);
    float least = 0;
    for (int below = 1; below <= 4; ++below) {
      const int e = unit_exponent - below;
      if (e < 0) continue;
      const float scale = std::bit_cast<float>(static_cast<uint32_t>(127 - below - 1) << 23);
      const Sums sums = PlainCodec<E2M1Steps, 4, StartsIq4>::sums(group, scale);
      const float error = scale * (scale * sums.qq - 2 * sums.xq);
      if (error >= least) continue;
      least = error;
      best_scale = scale;
      b.e = static_cast<uint8_t>(e);
    }
  }
  int32_t codes[32];
  put_numbers<E2M1Steps, 4>(in.x, inverse(best_scale), codes);
  put_nibbles(codes, b.qs);
}

// Super-blocks with a scale for each sub-block.
template <class Codec, class Scales, int kGroups, int kVecs>
RZ_LANES SuperScales<kGroups> super_scales(const Input<256>& in, const V8* x) {
  typename Codec::Unit groups[kGroups];
  for (int g = 0; g < kGroups; ++g) groups[g] = Codec::unit(x + kVecs * g, in.w + kVecs * g);
  return fit_super<Codec, Scales, kGroups>(in, groups);
}
template <class Scales, int kGroups>
RZ_LANES float group_inverse(const SuperScales<kGroups>& scales, int g) {
  return inverse(scales.d * Scales::factor(scales.k[g]));
}

RZ_LANES void fit(const Input<256>& in, BlockQ3_K& b) {
  using Levels = Steps<-4, 3>;
  using Scales = ScaleSteps<-32, 31, -32>;
  const auto scales = super_scales<PlainCodec<Levels, 2, StartsQ3_K>, Scales, 16, 2>(in, in.x);
  b.d = scales.d_bits;
  int32_t codes[256];
  for (int s = 0; s < 16; ++s) {
    put_codes<Levels, 2>(in.x + 2 * s, group_inverse<Scales>(scales, s), -4, codes + 16 * s);
    const int stored = scales.k[s] + 32;
    b.scales[s % 8] |= static_cast<uint8_t>((stored & 15) << (s < 8 ? 0 : 4));
    b.scales[8 + s % 4] |= static_cast<uint8_t>((stored >> 4) << (2 * (s / 4)));
  }
  put_pairs_of_bits(codes, b.qs);
  for (int i = 0; i < 256; ++i) b.hmask[i % 32] |= static_cast<uint8_t>((codes[i] >> 2) << (i / 32));
}

RZ_LANES void fit(const Input<256>& in, BlockQ6_K& b) {
  using Levels = Steps<-32, 31>;
  using Scales = ScaleSteps<-128, 127, -128>;
  const auto scales = super_scales<PlainCodec<Levels, 2, StartsQ6_K>, Scales, 16, 2>(in, in.x);
  b.d = scales.d_bits;
  int32_t codes[256];
  for (int s = 0; s < 16; ++s) {
    put_codes<Levels, 2>(in.x + 2 * s, group_inverse<Scales>(scales, s), -32, codes + 16 * s);
    b.scales[s] = static_cast<int8_t>(scales.k[s]);
  }
  for (int h = 0; h < 2; ++h) {
    for (int l = 0; l < 32; ++l) {
      const int32_t* at = codes + 128 * h + l;
      b.ql[64 * h + l] = static_cast<uint8_t>((at[0] & 15) | at[64] << 4);
      b.ql[64 * h + 32 + l] = static_cast<uint8_t>((at[32] & 15) | at[96] << 4);
      b.qh[32 * h + l] =
          static_cast<uint8_t>(at[0] >> 4 | (at[32] >> 4) << 2 | (at[64] >> 4) << 4 | (at[96] >> 4) << 6);
    }
  }
}

RZ_LANES void fit(const Input<256>& in, BlockIQ4_XS& b) {
  using Scales = ScaleSteps<-32, 31, -32>;
  const auto scales = super_scales<PlainCodec<Iq4Steps, 4, StartsIq4>, Scales, 8, 4>(in, in.x);
  b.d = scales.d_bits;
  int32_t codes[32];
  for (int s = 0; s < 8; ++s) {
    put_numbers<Iq4Steps, 4>(in.x + 4 * s, group_inverse<Scales>(scales, s), codes);
    put_nibbles(codes, b.qs + 16 * s);
    const int stored = scales.k[s] + 32;
    b.scales_l[s / 2] |= static_cast<uint8_t>((stored & 15) << (4 * (s % 2)));
    b.scales_h = static_cast<uint16_t>(b.scales_h | (stored >> 4) << (2 * s));
  }
}

template <int kMax, int kMaxStep, int kGroups, class Starts>
RZ_LANES SuperRanges<kGroups> super_ranges(const Input<256>& in, int32_t* codes) {
  constexpr int kVecs = 32 / kGroups;
  RangeGroup<kVecs> groups[kGroups];
  for (int g = 0; g < kGroups; ++g) groups[g] = range_group<kVecs, false>(in.x + kVecs * g, in.w + kVecs * g);
  const auto ranges = fit_super_ranges<kMax, kMaxStep, kGroups, Starts>(in, groups);
  for (int g = 0; g < kGroups; ++g) {
    for (int i = kVecs * g; i < kVecs * (g + 1); ++i) {
      const V8 q = range_code<kMax, kVecs>(in.x[i], ranges.x_min(g), inverse(ranges.x_scale(g)));
      store_integers(q, codes + 8 * i);
    }
  }
  return ranges;
}

RZ_LANES void fit(const Input<256>& in, BlockQ2_K& b) {
  int32_t codes[256];
  const auto ranges = super_ranges<3, 15, 16, StartsRange2>(in, codes);
  b.d = ranges.d_bits;
  b.dmin = ranges.dmin_bits;
  for (int s = 0; s < 16; ++s) b.scales[s] = static_cast<uint8_t>(ranges.scale[s] | ranges.min[s] << 4);
  put_pairs_of_bits(codes, b.qs);
}

// The inverse of q4_k_scale_min.
RZ_LANES void put_scale_mins_of_six(const SuperRanges<8>& ranges, uint8_t* scales) {
  for (int s = 0; s < 4; ++s) {
    scales[s] = static_cast<uint8_t>(ranges.scale[s] | (ranges.scale[s + 4] >> 4) << 6);
    scales[s + 4] = static_cast<uint8_t>(ranges.min[s] | (ranges.min[s + 4] >> 4) << 6);
    scales[s + 8] = static_cast<uint8_t>((ranges.scale[s + 4] & 15) | (ranges.min[s + 4] & 15) << 4);
  }
}
RZ_LANES void put_k_nibbles(const int32_t* codes, uint8_t* qs) {
  for (int p = 0; p < 4; ++p) {
    for (int l = 0; l < 32; ++l) {
      qs[32 * p + l] = static_cast<uint8_t>((codes[64 * p + l] & 15) | codes[64 * p + 32 + l] << 4);
    }
  }
}

RZ_LANES void fit(const Input<256>& in, BlockQ4_K& b) {
  int32_t codes[256];
  const auto ranges = super_ranges<15, 63, 8, StartsRange4>(in, codes);
  b.d = ranges.d_bits;
  b.dmin = ranges.dmin_bits;
  put_scale_mins_of_six(ranges, b.scales);
  put_k_nibbles(codes, b.qs);
}

RZ_LANES void fit(const Input<256>& in, BlockQ5_K& b) {
  int32_t codes[256];
  const auto ranges = super_ranges<31, 63, 8, StartsRange5>(in, codes);
  b.d = ranges.d_bits;
  b.dmin = ranges.dmin_bits;
  put_scale_mins_of_six(ranges, b.scales);
  put_k_nibbles(codes, b.qs);
  for (int s = 0; s < 8; ++s) {
    for (int l = 0; l < 32; ++l) b.qh[l] |= static_cast<uint8_t>((codes[32 * s + l] >> 4) << s);
  }
}

// One scale for a block, and codes 0, 1 and 2 (or 3) for the levels -1, 0 and 1 (or 2).
template <int kElems>
RZ_LANES void fit_ternary(const Input<kElems>& in, Half& d_bits, int32_t* codes) {
  using Codec = PlainCodec<Steps<-1, 1>, kElems / 8, StartsTernary>;
  auto group = Codec::unit(in.x, in.w);
  group.peak = group.peak < 0 ? -group.peak : group.peak;
  const float d = in.stored(fit_scale<Codec>(group).scale, d_bits);
  put_codes<Steps<-1, 1>, kElems / 8>(in.x, inverse(d), -1, codes);
}

RZ_LANES void fit(const Input<256>& in, BlockTQ1_0& b) {
  constexpr int kPowers[5] = {81, 27, 9, 3, 1};
  int32_t codes[256];
  fit_ternary(in, b.d, codes);
  int qs[48] = {}, qh[4] = {};
  for (int i = 0; i < 256; ++i) {
    const TernaryPlace at = tq1_0_place(i);
    (at.in_qh ? qh[at.byte] : qs[at.byte]) += kPowers[at.digit] * codes[i];
  }
  // The byte whose fraction of 256 has the number's base-3 digits.
  for (int i = 0; i < 48; ++i) b.qs[i] = static_cast<uint8_t>((qs[i] * 256 + 242) / 243);
  for (int i = 0; i < 4; ++i) b.qh[i] = static_cast<uint8_t>((qh[i] * 256 + 242) / 243);
}
RZ_LANES void fit(const Input<256>& in, BlockTQ2_0& b) {
  int32_t codes[256];
  fit_ternary(in, b.d, codes);
  put_pairs_of_bits(codes, b.qs);
}
RZ_LANES void fit(const Input<64>& in, BlockQ2_0& b) {
  using Codec = PlainCodec<Steps<-1, 2>, 8, StartsQ2_0>;
  int32_t codes[64];
  put_codes<Steps<-1, 2>, 8>(in.x, block_scale<Codec>(in, b.d), -1, codes);
  for (int i = 0; i < 16; ++i) {
    const int32_t* at = codes + 4 * i;
    b.qs[i] = static_cast<uint8_t>(at[0] | at[1] << 2 | at[2] << 4 | at[3] << 6);
  }
}
// The best scale for signs is the mean magnitude.
RZ_LANES void fit(const Input<128>& in, BlockQ1_0& b) {
  V8 wx = lanes(0), w = lanes(0);
  for (int i = 0; i < 16; ++i) {
    wx += in.w[i] * magnitude(in.x[i]);
    w += in.w[i];
  }
  in.stored(sum(wx) / sum(w), b.d);
  for (int i = 0; i < 128; ++i) b.qs[i / 8] |= static_cast<uint8_t>((in.x[i / 8][i % 8] < 0 ? 0 : 1) << (i % 8));
}
