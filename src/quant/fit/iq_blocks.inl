// fit() for the types whose codes are points.

// Absolute values of a block, and their signs.
struct Unsigned {
  V8 x[32];
  uint8_t signs[32];
};
template <bool kEvenSigns>
RZ_LANES void split_signs(const Input<256>& in, Unsigned& split) {
  for (int i = 0; i < 32; ++i) split.x[i] = take_signs<kEvenSigns>(in.x[i], in.w[i], split.signs[i]);
}

// Eight signs as seven bits, four times, with the scale in the upper bits.
RZ_LANES uint32_t even_signs_and_scale(const uint8_t* signs, int scale) {
  return (signs[0] & 127u) | (signs[1] & 127u) << 7 | (signs[2] & 127u) << 14 | (signs[3] & 127u) << 21 |
         static_cast<uint32_t>(scale) << 28;
}

template <class Grid>
RZ_LANES int point_of_eight(const Input<256>& in, const Unsigned& split, int i, float inverse_scale) {
  return Grid::point(Grid::index(), split.x[i] * inverse_scale, in.w[i]);
}
// Point p of four values.
template <class Grid>
RZ_LANES int point_of_four(const Input<256>& in, const Unsigned& split, int p, float inverse_scale) {
  const V8 v = split.x[p / 2] * inverse_scale, w = in.w[p / 2];
  return p % 2 == 0 ? Grid::point(Grid::index(), low_half(v), low_half(w))
                    : Grid::point(Grid::index(), high_half(v), high_half(w));
}

RZ_LANES void put_scale_nibbles(const int* k, int n, uint8_t* scales) {
  for (int s = 0; s < n; s += 2) scales[s / 2] = static_cast<uint8_t>(k[s] | k[s + 1] << 4);
}

// d * (k + 1/2) / 4 as d / 8 * (2 k + 1): the steps' factors are odd numbers, and d is an eighth of the stored one.
template <int kMax>
using OddScales = ScaleSteps<0, kMax, kMax, 2, 1>;

// in.stored() for a d that is stored multiplied by `times`.
struct ScaledInput {
  const Input<256>& in;
  float times;
  RZ_LANES float stored(float scale, Half& bits) const { return in.stored(scale * times, bits) / times; }
  RZ_LANES float squares() const { return in.squares(); }
};

template <class Codec, int kMax, int kGroups, int kVecs>
RZ_LANES SuperScales<kGroups> odd_scales(const Input<256>& in, const V8* x, float times) {
  typename Codec::Unit groups[kGroups];
  for (int g = 0; g < kGroups; ++g) groups[g] = Codec::unit(x + kVecs * g, in.w + kVecs * g);
  return fit_super<Codec, OddScales<kMax>, kGroups>(ScaledInput{in, times}, groups);
}

RZ_LANES void fit(const Input<256>& in, BlockIQ2_XXS& b) {
  Unsigned split;
  split_signs<true>(in, split);
  const auto scales = odd_scales<EightCodec<Iq2XxsGrid, 4, StartsIq2>, 15, 8, 4>(in, split.x, 8);
  b.d = scales.d_bits;
  for (int s = 0; s < 8; ++s) {
    const float factor = group_inverse<OddScales<15>>(scales, s);
    int points[4];
    for (int l = 0; l < 4; ++l) points[l] = point_of_eight<Iq2XxsGrid>(in, split, 4 * s + l, factor);
    const uint32_t signs = even_signs_and_scale(split.signs + 4 * s, scales.k[s]);
    b.qs[4 * s] = static_cast<uint16_t>(points[0] | points[1] << 8);
    b.qs[4 * s + 1] = static_cast<uint16_t>(points[2] | points[3] << 8);
    b.qs[4 * s + 2] = static_cast<uint16_t>(signs);
    b.qs[4 * s + 3] = static_cast<uint16_t>(signs >> 16);
  }
}

RZ_LANES void fit(const Input<256>& in, BlockIQ2_XS& b) {
  Unsigned split;
  split_signs<true>(in, split);
  const auto scales = odd_scales<EightCodec<Iq2XsGrid, 2, StartsIq2>, 15, 16, 2>(in, split.x, 8);
  b.d = scales.d_bits;
  for (int p = 0; p < 32; ++p) {
    const int point = point_of_eight<Iq2XsGrid>(in, split, p, group_inverse<OddScales<15>>(scales, p / 2));
    b.qs[p] = static_cast<uint16_t>(point | (split.signs[p] & 127) << 9);
  }
  put_scale_nibbles(scales.k, 16, b.scales);
}

RZ_LANES void fit(const Input<256>& in, BlockIQ2_S& b) {
  Unsigned split;
  split_signs<false>(in, split);
  const auto scales = odd_scales<EightCodec<Iq2SGrid, 2, StartsIq2>, 15, 16, 2>(in, split.x, 8);
  b.d = scales.d_bits;
  for (int p = 0; p < 32; ++p) {
    const int point = point_of_eight<Iq2SGrid>(in, split, p, group_inverse<OddScales<15>>(scales, p / 2));
    b.qs[p] = static_cast<uint8_t>(point);
    b.qh[p / 4] |= static_cast<uint8_t>(point >> 8 << (p % 4 * 2));
    b.signs[p] = split.signs[p];
  }
  put_scale_nibbles(scales.k, 16, b.scales);
}

RZ_LANES void fit(const Input<256>& in, BlockIQ3_XXS& b) {
  Unsigned split;
  split_signs<true>(in, split);
  const auto scales = odd_scales<FourCodec<Iq3XxsGrid, 4, StartsIq3>, 15, 8, 4>(in, split.x, 4);
  b.d = scales.d_bits;
  for (int s = 0; s < 8; ++s) {
    const float factor = group_inverse<OddScales<15>>(scales, s);
    for (int p = 8 * s; p < 8 * s + 8; ++p) {
      b.qs[p] = static_cast<uint8_t>(point_of_four<Iq3XxsGrid>(in, split, p, factor));
    }
    const uint32_t signs = even_signs_and_scale(split.signs + 4 * s, scales.k[s]);
    for (int k = 0; k < 4; ++k) b.signs[4 * s + k] = static_cast<uint8_t>(signs >> (8 * k));
  }
}

RZ_LANES void fit(const Input<256>& in, BlockIQ3_S& b) {
  Unsigned split;
  split_signs<false>(in, split);
  const auto scales = odd_scales<FourCodec<Iq3SGrid, 4, StartsIq3>, 15, 8, 4>(in, split.x, 1);
  b.d = scales.d_bits;
  for (int p = 0; p < 64; ++p) {
    const int point = point_of_four<Iq3SGrid>(in, split, p, group_inverse<OddScales<15>>(scales, p / 8));
    b.qs[p] = static_cast<uint8_t>(point);
    b.qh[p / 8] |= static_cast<uint8_t>((point >> 8) << (p % 8));
  }
  for (int p = 0; p < 32; ++p) b.signs[p] = split.signs[p];
  put_scale_nibbles(scales.k, 8, b.scales);
}

template <class Codec, int kGroups, int kVecs>
RZ_LANES SuperScales<kGroups> fit_iq1(const Input<256>& in, Iq1Point* points) {
  const auto scales = odd_scales<Codec, 7, kGroups, kVecs>(in, in.x, 1);
  for (int s = 0; s < kGroups; ++s) {
    const auto group = Codec::unit(in.x + kVecs * s, in.w + kVecs * s);
    // If all values are zero, any point is right.
    const float scale = scales.d * OddScales<7>::factor(scales.k[s]);
    Codec::choose(group, scale != 0 ? scale : 1, points + kVecs * s);
  }
  return scales;
}

RZ_LANES void fit(const Input<256>& in, BlockIQ1_S& b) {
  Iq1Point points[32];
  const auto scales = fit_iq1<Iq1Codec<4, true, StartsIq1>, 8, 4>(in, points);
  b.d = scales.d_bits;
  for (int s = 0; s < 8; ++s) {
    int bits = scales.k[s] << 12 | (points[4 * s].is_below ? 0x8000 : 0);
    for (int l = 0; l < 4; ++l) {
      const int point = points[4 * s + l].point;
      b.qs[4 * s + l] = static_cast<uint8_t>(point);
      bits |= point >> 8 << (3 * l);
    }
    b.qh[s] = static_cast<uint16_t>(bits);
  }
}

RZ_LANES void fit(const Input<256>& in, BlockIQ1_M& b) {
  Iq1Point points[32];
  const auto scales = fit_iq1<Iq1Codec<2, false, StartsIq1>, 16, 2>(in, points);
  for (int w = 0; w < 4; ++w) {
    int bits = (scales.d_bits >> (4 * w) & 15) << 12;
    for (int k = 0; k < 4; ++k) bits |= scales.k[4 * w + k] << (3 * k);
    b.scales[2 * w] = static_cast<uint8_t>(bits);
    b.scales[2 * w + 1] = static_cast<uint8_t>(bits >> 8);
  }
  for (int p = 0; p < 32; ++p) {
    b.qs[p] = static_cast<uint8_t>(points[p].point);
    b.qh[p / 2] |= static_cast<uint8_t>((points[p].point >> 8 | (points[p].is_below ? 8 : 0)) << (p % 2 * 4));
  }
}
