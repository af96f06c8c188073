// Encodes numbers to blocks: encode() of every block type, nearest in the least-squares sense that the format's author
// describes, or simpler; used to make test data. The block is zeroed in advance. For types.cpp, which includes
// decode.inl first.

// The scale as it will be decoded.
inline float rounded_half(float value, Half& bits) {
  bits = float_to_fp16(value);
  return fp16_to_float(bits);
}

inline float inverse(float value) {
  return value != 0 ? 1 / value : 0;
}

inline int quantized(float value, int low, int high) {
  return std::clamp(static_cast<int>(std::lround(value)), low, high);
}

inline float signed_absmax(const float* x, int n) {
  return *std::max_element(x, x + n, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}

inline float absmax(const float* x, int n) {
  return std::fabs(signed_absmax(x, n));
}

inline void put_nibble(uint8_t* qs, int i, int q) {
  qs[i % 16] |= static_cast<uint8_t>(i < 16 ? q : q << 4);
}

inline void put_fifth_bit(uint8_t* qh, int i, int q) {
  qh[i / 8] |= static_cast<uint8_t>(((q >> 4) & 1) << (i % 8));
}

// The level nearest to `value`.
inline int nearest_level(const CodeLevels& levels, float value) {
  const auto distance = [&](int i) { return std::fabs(static_cast<float>(levels.level[i]) - value); };
  int best = 0;
  for (int i = 1; i < 16; ++i) {
    if (distance(i) < distance(best)) best = i;
  }
  return best;
}

struct Range {
  float scale, min;  // x = scale * q - min, both >= 0
};

// Covers [min(x, 0), max(x)] with levels 0 .. n_levels - 1.
inline Range cover(const float* x, int n, int n_levels) {
  const auto [low, high] = std::minmax_element(x, x + n);
  const float min = std::min(*low, 0.0f);
  return {(std::max(*high, min) - min) / static_cast<float>(n_levels - 1), -min};
}

// Ranges of all sub-blocks, their scales and mins quantized to `max_q` steps of a common d and dmin.
template <int kSubBlocks>
struct QuantizedRanges {
  Half d_bits, dmin_bits;
  int scale[kSubBlocks], min[kSubBlocks];
  float x_scale[kSubBlocks], x_min[kSubBlocks];  // as they will be decoded
};

template <int kSubBlocks>
QuantizedRanges<kSubBlocks> quantize_ranges(const float* x, int n_levels, int max_q) {
  constexpr int kElems = kSuperBlockElems / kSubBlocks;
  Range ranges[kSubBlocks];
  float max_scale = 0, max_min = 0;
  for (int s = 0; s < kSubBlocks; ++s) {
    ranges[s] = cover(x + s * kElems, kElems, n_levels);
    max_scale = std::max(max_scale, ranges[s].scale);
    max_min = std::max(max_min, ranges[s].min);
  }
  QuantizedRanges<kSubBlocks> out;
  const float d = rounded_half(max_scale / static_cast<float>(max_q), out.d_bits);
  const float dmin = rounded_half(max_min / static_cast<float>(max_q), out.dmin_bits);
  for (int s = 0; s < kSubBlocks; ++s) {
    out.scale[s] = quantized(ranges[s].scale * inverse(d), 0, max_q);
    out.min[s] = quantized(ranges[s].min * inverse(dmin), 0, max_q);
    out.x_scale[s] = d * static_cast<float>(out.scale[s]);
    out.x_min[s] = dmin * static_cast<float>(out.min[s]);
  }
  return out;
}

// The inverse of q4_k_scale_min.
inline void put_scale_mins(const QuantizedRanges<8>& ranges, uint8_t* scales) {
  for (int s = 0; s < 4; ++s) {
    scales[s] = static_cast<uint8_t>(ranges.scale[s] | ((ranges.scale[s + 4] >> 4) << 6));
    scales[s + 4] = static_cast<uint8_t>(ranges.min[s] | ((ranges.min[s + 4] >> 4) << 6));
    scales[s + 8] = static_cast<uint8_t>((ranges.scale[s + 4] & 15) | ((ranges.min[s + 4] & 15) << 4));
  }
}

// The value of largest magnitude becomes the level -8 (Q4_0) or -16 (Q5_0), the only one without a counterpart.
inline void encode(const float* x, BlockQ4_0& b) {
  const float scale = inverse(rounded_half(signed_absmax(x, kBlockElems) / -8, b.d));
  for (int i = 0; i < kBlockElems; ++i) put_nibble(b.qs, i, quantized(x[i] * scale, -8, 7) + 8);
}

inline void encode(const float* x, BlockQ5_0& b) {
  const float scale = inverse(rounded_half(signed_absmax(x, kBlockElems) / -16, b.d));
  for (int i = 0; i < kBlockElems; ++i) {
    const int q = quantized(x[i] * scale, -16, 15) + 16;
    put_nibble(b.qs, i, q & 15);
    put_fifth_bit(b.qh, i, q);
  }
}

inline void encode(const float* x, BlockQ4_1& b) {
  const auto [low, high] = std::minmax_element(x, x + kBlockElems);
  const float scale = inverse(rounded_half((*high - *low) / 15, b.d)), m = rounded_half(*low, b.m);
  for (int i = 0; i < kBlockElems; ++i) put_nibble(b.qs, i, quantized((x[i] - m) * scale, 0, 15));
}

inline void encode(const float* x, BlockQ5_1& b) {
  const auto [low, high] = std::minmax_element(x, x + kBlockElems);
  const float scale = inverse(rounded_half((*high - *low) / 31, b.d)), m = rounded_half(*low, b.m);
  for (int i = 0; i < kBlockElems; ++i) {
    const int q = quantized((x[i] - m) * scale, 0, 31);
    put_nibble(b.qs, i, q & 15);
    put_fifth_bit(b.qh, i, q);
  }
}

inline void encode(const float* x, BlockQ8_0& b) {
  const float scale = inverse(rounded_half(absmax(x, kBlockElems) / 127, b.d));
  for (int i = 0; i < kBlockElems; ++i) b.qs[i] = static_cast<int8_t>(quantized(x[i] * scale, -127, 127));
}

inline void encode(const float* x, BlockIQ4_NL& b) {
  const float scale = inverse(rounded_half(signed_absmax(x, kBlockElems) / kIq4Levels.level[0], b.d));
  for (int i = 0; i < kBlockElems; ++i) put_nibble(b.qs, i, nearest_level(kIq4Levels, x[i] * scale));
}

// OCP Microscaling Formats 1.0, section 6.3: the shared exponent is that of the largest value minus E2M1's largest, 2.
inline void encode(const float* x, BlockMXFP4& b) {
  const float max = absmax(x, kBlockElems);
  const int exponent = max > 0 ? std::ilogb(max) - 2 : -127;
  b.e = static_cast<uint8_t>(std::clamp(exponent + 127, 0, 254));
  const float scale = std::ldexp(1.0f, 128 - b.e);
  for (int i = 0; i < kBlockElems; ++i) put_nibble(b.qs, i, nearest_level(kE2M1Doubled, x[i] * scale));
}

inline void encode(const float* x, BlockQ2_K& b) {
  const auto ranges = quantize_ranges<16>(x, 4, 15);
  b.d = ranges.d_bits;
  b.dmin = ranges.dmin_bits;
  for (int s = 0; s < 16; ++s) b.scales[s] = static_cast<uint8_t>(ranges.scale[s] | (ranges.min[s] << 4));
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const int s = i / 16;
    const int q = quantized((x[i] + ranges.x_min[s]) * inverse(ranges.x_scale[s]), 0, 3);
    b.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>(q << (2 * (i % 128 / 32)));
  }
}

inline void encode(const float* x, BlockQ3_K& b) {
  // Each sub-block's scale maps its value of largest magnitude to the level -4; scales are signed.
  float scales[16];
  for (int s = 0; s < 16; ++s) scales[s] = signed_absmax(x + 16 * s, 16) / -4;
  const float d = rounded_half(signed_absmax(scales, 16) / -32, b.d);
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const int s = i / 16, h = i / 128, j = i % 128 / 32, l = i % 32;
    const int scale = quantized(scales[s] * inverse(d), -32, 31);
    const int q = quantized(x[i] * inverse(d * static_cast<float>(scale)), -4, 3) + 4;
    b.qs[32 * h + l] |= static_cast<uint8_t>((q & 3) << (2 * j));
    b.hmask[l] |= static_cast<uint8_t>((q >> 2) << (4 * h + j));
    if (i % 16 != 0) continue;
    b.scales[s % 8] |= static_cast<uint8_t>(((scale + 32) & 15) << (s < 8 ? 0 : 4));
    b.scales[8 + s % 4] |= static_cast<uint8_t>(((scale + 32) >> 4) << (2 * (s / 4)));
  }
}

inline void encode(const float* x, BlockQ4_K& b) {
  const auto ranges = quantize_ranges<8>(x, 16, 63);
  b.d = ranges.d_bits;
  b.dmin = ranges.dmin_bits;
  put_scale_mins(ranges, b.scales);
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const int s = i / 32;
    const int q = quantized((x[i] + ranges.x_min[s]) * inverse(ranges.x_scale[s]), 0, 15);
    b.qs[32 * (s / 2) + i % 32] |= static_cast<uint8_t>(q << (4 * (s % 2)));
  }
}

inline void encode(const float* x, BlockQ5_K& b) {
  const auto ranges = quantize_ranges<8>(x, 32, 63);
  b.d = ranges.d_bits;
  b.dmin = ranges.dmin_bits;
  put_scale_mins(ranges, b.scales);
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const int s = i / 32;
    const int q = quantized((x[i] + ranges.x_min[s]) * inverse(ranges.x_scale[s]), 0, 31);
    b.qs[32 * (s / 2) + i % 32] |= static_cast<uint8_t>((q & 15) << (4 * (s % 2)));
    b.qh[i % 32] |= static_cast<uint8_t>((q >> 4) << s);
  }
}

inline void encode(const float* x, BlockQ6_K& b) {
  float scales[16];
  for (int s = 0; s < 16; ++s) scales[s] = signed_absmax(x + 16 * s, 16) / -32;
  const float d = rounded_half(signed_absmax(scales, 16) / -128, b.d);
  for (int s = 0; s < 16; ++s) b.scales[s] = static_cast<int8_t>(quantized(scales[s] * inverse(d), -128, 127));
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const int h = i / 128, j = i % 128 / 32, l = i % 32;
    const int8_t scale = b.scales[i / 16];
    const int q = quantized(x[i] * inverse(d * static_cast<float>(scale)), -32, 31) + 32;
    b.ql[64 * h + 32 * (j & 1) + l] |= static_cast<uint8_t>((q & 15) << (j < 2 ? 0 : 4));
    b.qh[32 * h + l] |= static_cast<uint8_t>((q >> 4) << (2 * j));
  }
}

inline void encode(const float* x, BlockIQ4_XS& b) {
  float scales[8];
  for (int s = 0; s < 8; ++s) scales[s] = signed_absmax(x + 32 * s, 32) / kIq4Levels.level[0];
  const float d = rounded_half(signed_absmax(scales, 8) / -32, b.d);
  for (int s = 0; s < 8; ++s) {
    const int scale = quantized(scales[s] * inverse(d), -32, 31);
    b.scales_l[s / 2] |= static_cast<uint8_t>(((scale + 32) & 15) << (4 * (s % 2)));
    b.scales_h |= static_cast<uint16_t>(((scale + 32) >> 4) << (2 * s));
    const float inv = inverse(d * static_cast<float>(scale));
    for (int i = 0; i < 32; ++i) put_nibble(b.qs + 16 * s, i, nearest_level(kIq4Levels, x[32 * s + i] * inv));
  }
}

inline void encode(const float* x, BlockQ8_K& b) {
  b.d = absmax(x, kSuperBlockElems) / 127;
  for (int i = 0; i < kSuperBlockElems; ++i) {
    b.qs[i] = static_cast<int8_t>(quantized(x[i] * inverse(b.d), -127, 127));
    b.bsums[i / 16] = static_cast<int16_t>(b.bsums[i / 16] + b.qs[i]);
  }
}

// Finds points of a grid: values are rounded to levels one by one, then to the nearest point. level_of() gives the
// level of digit k of a point; a digit has kBits bits.
template <int kElems, int kBits, int kLevels>
class GridSearch {
 public:
  using LevelOf = int (*)(uint16_t point, int k);

  template <class Grid>
  GridSearch(const Grid& grid, LevelOf level_of) : level_of_(level_of), nearest_(size_t{1} << (kElems * kBits)) {
    for (size_t digits = 0; digits < nearest_.size(); ++digits) {
      if (is_pattern(digits)) nearest_[digits] = search(grid, static_cast<uint16_t>(digits));
    }
  }
  // The index of the point for |x| * scale.
  int nearest(const float* x, float scale) const {
    float values[kElems];
    for (int k = 0; k < kElems; ++k) values[k] = std::fabs(x[k]) * scale;
    return nearest(values);
  }
  int nearest(const float* values) const {
    size_t digits = 0;
    for (int k = 0; k < kElems; ++k) digits |= nearest_digit(values[k]) << (kBits * k);
    return nearest_[digits];
  }

 private:
  static bool is_pattern(size_t digits) {
    for (; digits > 0; digits >>= kBits) {
      if (digits % (size_t{1} << kBits) >= kLevels) return false;
    }
    return true;
  }
  size_t nearest_digit(float value) const {
    size_t nearest = 0;
    for (uint16_t digit = 1; digit < kLevels; ++digit) {
      if (value > static_cast<float>(level_of_(digit, 0) + level_of_(digit - 1, 0)) / 2) nearest = digit;
    }
    return nearest;
  }
  template <class Grid>
  uint16_t search(const Grid& grid, uint16_t digits) const {
    uint16_t nearest = 0;
    int least = std::numeric_limits<int>::max();
    for (uint16_t i = 0; i < Grid::kPoints; ++i) {
      int error = 0;
      for (int k = 0; k < kElems && error < least; ++k) {
        const int off = level_of_(digits, k) - level_of_(grid.points[i], k);
        error += off * off;
      }
      if (error >= least) continue;
      least = error;
      nearest = i;
    }
    return nearest;
  }

  LevelOf level_of_;
  std::vector<uint16_t> nearest_;  // for each pattern of digits
};

// A bit for each of 8 values: 1 if it is negative.
inline int signs_of(const float* x) {
  int signs = 0;
  for (int k = 0; k < 8; ++k) signs |= (x[k] < 0 ? 1 : 0) << k;
  return signs;
}

// The signs as seven bits. If their number is odd, the smallest value gets the wrong sign.
inline uint32_t even_signs(const float* x) {
  int n = 0, smallest = 0;
  for (int k = 0; k < 8; ++k) {
    if (std::fabs(x[k]) < std::fabs(x[smallest])) smallest = k;
    n += x[k] < 0 ? 1 : 0;
  }
  return static_cast<uint32_t>(n % 2 == 0 ? signs_of(x) : signs_of(x) ^ (1 << smallest)) & 127;
}
inline uint32_t even_signs_of_32(const float* x) {
  uint32_t signs = 0;
  for (int l = 0; l < 4; ++l) signs |= even_signs(x + 8 * l) << (7 * l);
  return signs;
}

// The scales of sub-blocks of IQ2 and IQ3_XXS, which are `step` * d * (q + 1/2), so that the largest value of each
// becomes the largest level.
template <int kSubBlocks>
struct HalfUpScales {
  int q[kSubBlocks];
  float inverse[kSubBlocks];  // of the scales as they will be decoded
};
template <int kSubBlocks>
HalfUpScales<kSubBlocks> half_up_scales(const float* x, float largest_level, float step, Half& d_bits) {
  constexpr int kElems = kSuperBlockElems / kSubBlocks;
  HalfUpScales<kSubBlocks> scales;
  const float d = step * rounded_half(absmax(x, kSuperBlockElems) / largest_level / (15.5f * step), d_bits);
  for (int s = 0; s < kSubBlocks; ++s) {
    scales.q[s] = quantized(absmax(x + kElems * s, kElems) / largest_level * inverse(d) - 0.5f, 0, 15);
    scales.inverse[s] = inverse(d * (0.5f + static_cast<float>(scales.q[s])));
  }
  return scales;
}

inline void put_scale_nibble(uint8_t* scales, int s, int q) {
  scales[s / 2] |= static_cast<uint8_t>(q << (4 * (s % 2)));
}

using Iq2Search = GridSearch<8, 2, 3>;

inline void encode(const float* x, BlockIQ2_XXS& b) {
  static const Iq2Search search(kIq2xxsGrid, iq2_level);
  const auto scales = half_up_scales<8>(x, 43, 0.25f, b.d);
  for (int s = 0; s < 8; ++s) {
    for (int l = 0; l < 4; ++l) {
      const int point = search.nearest(x + 32 * s + 8 * l, scales.inverse[s]);
      b.qs[4 * s + l / 2] |= static_cast<uint16_t>(point << (8 * (l % 2)));
    }
    const uint32_t signs = even_signs_of_32(x + 32 * s) | static_cast<uint32_t>(scales.q[s]) << 28;
    b.qs[4 * s + 2] = static_cast<uint16_t>(signs);
    b.qs[4 * s + 3] = static_cast<uint16_t>(signs >> 16);
  }
}

inline void encode(const float* x, BlockIQ2_XS& b) {
  static const Iq2Search search(kIq2xsGrid, iq2_level);
  const auto scales = half_up_scales<16>(x, 43, 0.25f, b.d);
  for (int p = 0; p < 32; ++p) {
    const auto point = static_cast<uint32_t>(search.nearest(x + 8 * p, scales.inverse[p / 2]));
    b.qs[p] = static_cast<uint16_t>(point | even_signs(x + 8 * p) << 9);
  }
  for (int s = 0; s < 16; ++s) put_scale_nibble(b.scales, s, scales.q[s]);
}

inline void encode(const float* x, BlockIQ2_S& b) {
  static const Iq2Search search(kIq2sGrid, iq2_level);
  const auto scales = half_up_scales<16>(x, 43, 0.25f, b.d);
  for (int p = 0; p < 32; ++p) {
    const int point = search.nearest(x + 8 * p, scales.inverse[p / 2]);
    b.qs[p] = static_cast<uint8_t>(point);
    b.qh[p / 4] |= static_cast<uint8_t>(point >> 8 << (p % 4 * 2));
    b.signs[p] = static_cast<uint8_t>(signs_of(x + 8 * p));
  }
  for (int s = 0; s < 16; ++s) put_scale_nibble(b.scales, s, scales.q[s]);
}

inline void encode(const float* x, BlockIQ3_XXS& b) {
  static const GridSearch<4, 3, 8> search(kIq3xxsGrid, iq3_xxs_level);
  const auto scales = half_up_scales<8>(x, 62, 0.5f, b.d);
  for (int p = 0; p < 64; ++p) b.qs[p] = static_cast<uint8_t>(search.nearest(x + 4 * p, scales.inverse[p / 8]));
  for (int s = 0; s < 8; ++s) {
    const uint32_t signs = even_signs_of_32(x + 32 * s) | static_cast<uint32_t>(scales.q[s]) << 28;
    for (int k = 0; k < 4; ++k) b.signs[4 * s + k] = static_cast<uint8_t>(signs >> (8 * k));
  }
}

// The largest value of a sub-block becomes the level 15.
inline void encode(const float* x, BlockIQ3_S& b) {
  static const GridSearch<4, 3, 8> search(kIq3sGrid, iq3_s_level);
  const float d = rounded_half(absmax(x, kSuperBlockElems) / 15 / 31, b.d);
  for (int s = 0; s < 8; ++s) {
    const int scale = quantized((absmax(x + 32 * s, 32) / 15 * inverse(d) - 1) / 2, 0, 15);
    put_scale_nibble(b.scales, s, scale);
    const float inv = inverse(d * static_cast<float>(1 + 2 * scale));
    for (int p = 8 * s; p < 8 * s + 8; ++p) {
      const int point = search.nearest(x + 4 * p, inv);
      b.qs[p] = static_cast<uint8_t>(point);
      b.qh[s] |= static_cast<uint8_t>((point >> 8) << (p % 8));
    }
  }
  for (int p = 0; p < 32; ++p) b.signs[p] = static_cast<uint8_t>(signs_of(x + 8 * p));
}

// The least-squares scale for levels -1, 0 and 1, starting from the largest value; values that have these levels are
// kept exactly.
inline float ternary_scale(const float* x, int n) {
  float scale = absmax(x, n);
  for (int round = 0; round < 16; ++round) {
    float sum = 0, n_taken = 0;
    for (int i = 0; i < n; ++i) {
      if (std::fabs(x[i]) * 2 <= scale) continue;
      sum += std::fabs(x[i]);
      ++n_taken;
    }
    const float next = n_taken > 0 ? sum / n_taken : 0;
    if (next == scale) break;
    scale = next;
  }
  return scale;
}

// A point for eight elements, and the direction of the shift by 1/8, for one scale.
struct Iq1Choice {
  int point;
  bool is_below;
};
inline float iq1_error(const float* x, float scale, Iq1Choice choice) {
  float error = 0;
  for (int k = 0; k < 8; ++k) {
    const float level = static_cast<float>(iq1_level(kIq1Grid.points[choice.point], k));
    const float off = x[k] - scale * (level + (choice.is_below ? -0.125f : 0.125f));
    error += off * off;
  }
  return error;
}
inline Iq1Choice iq1_choice(const float* x, float scale, bool is_below) {
  static const GridSearch<8, 2, 3> search(kIq1Grid, iq1_level);
  float values[8];
  for (int k = 0; k < 8; ++k) values[k] = x[k] * inverse(scale) - (is_below ? -0.125f : 0.125f);
  return {search.nearest(values), is_below};
}
inline Iq1Choice iq1_choice(const float* x, float scale) {
  const Iq1Choice below = iq1_choice(x, scale, true), above = iq1_choice(x, scale, false);
  return iq1_error(x, scale, below) < iq1_error(x, scale, above) ? below : above;
}

// d and the sub-blocks' factors 2 * q + 1.
template <int kSubBlocks>
struct Iq1Scales {
  Half d_bits;
  int q[kSubBlocks];
  float scale[kSubBlocks];  // as it will be decoded
};
template <int kSubBlocks>
Iq1Scales<kSubBlocks> iq1_scales(const float* x) {
  constexpr int kElems = kSuperBlockElems / kSubBlocks;
  Iq1Scales<kSubBlocks> out;
  float wanted[kSubBlocks];
  for (int s = 0; s < kSubBlocks; ++s) wanted[s] = ternary_scale(x + kElems * s, kElems);
  const float d = rounded_half(absmax(wanted, kSubBlocks) / 15, out.d_bits);
  for (int s = 0; s < kSubBlocks; ++s) {
    out.q[s] = quantized((wanted[s] * inverse(d) - 1) / 2, 0, 7);
    out.scale[s] = d * static_cast<float>(2 * out.q[s] + 1);
  }
  return out;
}

inline void encode(const float* x, BlockIQ1_S& b) {
  const auto scales = iq1_scales<8>(x);
  b.d = scales.d_bits;
  for (int s = 0; s < 8; ++s) {
    const float scale = scales.scale[s];
    float errors[2] = {};  // for the whole sub-block, whose points are shifted in the same direction
    for (const bool is_below : {false, true}) {
      for (int p = 4 * s; p < 4 * s + 4; ++p) {
        errors[is_below ? 1 : 0] += iq1_error(x + 8 * p, scale, iq1_choice(x + 8 * p, scale, is_below));
      }
    }
    const bool is_below = errors[1] < errors[0];
    int bits = scales.q[s] << 12 | (is_below ? 0x8000 : 0);
    for (int p = 4 * s; p < 4 * s + 4; ++p) {
      const int point = iq1_choice(x + 8 * p, scale, is_below).point;
      b.qs[p] = static_cast<uint8_t>(point);
      bits |= point >> 8 << (p % 4 * 3);
    }
    b.qh[s] = static_cast<uint16_t>(bits);
  }
}

inline void encode(const float* x, BlockIQ1_M& b) {
  const auto scales = iq1_scales<16>(x);
  for (int w = 0; w < 4; ++w) {
    int bits = (scales.d_bits >> (4 * w) & 15) << 12;
    for (int k = 0; k < 4; ++k) bits |= scales.q[4 * w + k] << (3 * k);
    b.scales[2 * w] = static_cast<uint8_t>(bits);
    b.scales[2 * w + 1] = static_cast<uint8_t>(bits >> 8);
  }
  for (int p = 0; p < 32; ++p) {
    const Iq1Choice choice = iq1_choice(x + 8 * p, scales.scale[p / 2]);
    b.qs[p] = static_cast<uint8_t>(choice.point);
    b.qh[p / 2] |= static_cast<uint8_t>((choice.point >> 8 | (choice.is_below ? 8 : 0)) << (p % 2 * 4));
  }
}

// The byte whose fraction of 256 has the base-3 digits of `number`, 0 to 242.
inline uint8_t ternary_byte(int number) {
  return static_cast<uint8_t>((number * 256 + 242) / 243);
}

inline void encode(const float* x, BlockTQ1_0& b) {
  const float scale = inverse(rounded_half(ternary_scale(x, kSuperBlockElems), b.d));
  constexpr int kPowers[5] = {81, 27, 9, 3, 1};
  int qs[48] = {}, qh[4] = {};
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const TernaryPlace at = tq1_0_place(i);
    (at.in_qh ? qh[at.byte] : qs[at.byte]) += kPowers[at.digit] * (quantized(x[i] * scale, -1, 1) + 1);
  }
  std::transform(std::begin(qs), std::end(qs), b.qs, ternary_byte);
  std::transform(std::begin(qh), std::end(qh), b.qh, ternary_byte);
}

inline void encode(const float* x, BlockTQ2_0& b) {
  const float scale = inverse(rounded_half(ternary_scale(x, kSuperBlockElems), b.d));
  for (int i = 0; i < kSuperBlockElems; ++i) {
    const int q = quantized(x[i] * scale, -1, 1) + 1;
    b.qs[i / 128 * 32 + i % 32] |= static_cast<uint8_t>(q << (i % 128 / 32 * 2));
  }
}

inline void encode(const float* x, BlockQ1_0& b) {
  float sum = 0;
  for (int i = 0; i < 128; ++i) sum += std::fabs(x[i]);
  rounded_half(sum / 128, b.d);
  for (int i = 0; i < 128; ++i) b.qs[i / 8] |= static_cast<uint8_t>((x[i] < 0 ? 0 : 1) << (i % 8));
}

inline void encode(const float* x, BlockQ2_0& b) {
  const float scale = inverse(rounded_half(ternary_scale(x, 64), b.d));
  for (int i = 0; i < 64; ++i) {
    b.qs[i / 4] |= static_cast<uint8_t>((quantized(x[i] * scale, -1, 2) + 1) << (i % 4 * 2));
  }
}

// The largest value of a sub-block becomes the level 6.
inline void encode(const float* x, BlockNVFP4& b) {
  for (int s = 0; s < 4; ++s) {
    b.scales[s] = float_to_f8_e4m3(absmax(x + 16 * s, 16) / 6);
    const float scale = inverse(nvfp4_half_scale(b.scales[s]));
    for (int i = 0; i < 16; ++i) {
      const int q = nearest_level(kE2M1Doubled, x[16 * s + i] * scale);
      b.qs[8 * s + i % 8] |= static_cast<uint8_t>(q << (i / 8 * 4));
    }
  }
}
