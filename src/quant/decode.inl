// Decodes the elements of a block: value_of() of every block type is its specification, which all kernels must match.
// It is included inside a namespace, and compiled for the CPU or for a GPU. The including file provides
// - RZ_VALUE, the prefix of functions, and RZ_TABLE, the prefix of constant tables;
// - half_to_float(bits), and float_of_bits(bits), the float with these bits;
// - quant/block_scales.h and quant/point_grids.h.

RZ_TABLE CodeLevels kIq4Levels = levels_of(Codes::kIq4);
// Twice the E2M1 values, so that they are integers; the scale is halved instead.
RZ_TABLE CodeLevels kE2M1Doubled = levels_of(Codes::kE2M1);

// The points of the IQ types, and the levels of their digits.
RZ_TABLE PointGrid<2048> kIq1Grid = make_point_grid<2048>(kIq1Map, kIq1Digits);
RZ_TABLE PointGrid<256> kIq2xxsGrid = make_point_grid<256>(kIq2XxsMap, kIq2Digits);
RZ_TABLE PointGrid<512> kIq2xsGrid = make_point_grid<512>(kIq2XsMap, kIq2Digits);
RZ_TABLE PointGrid<1024> kIq2sGrid = make_point_grid<1024>(kIq2SMap, kIq2Digits);
RZ_TABLE PointGrid<256> kIq3xxsGrid = make_point_grid<256>(kIq3XxsMap, kIq3XxsDigits);
RZ_TABLE PointGrid<512> kIq3sGrid = make_point_grid<512>(kIq3SMap, kIq3SDigits);
RZ_TABLE int8_t kIq2Levels[4] = {8, 25, 43, 0};
RZ_TABLE int8_t kIq3XxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};

RZ_VALUE int low_nibble(uint8_t byte) {
  return byte & 15;
}
RZ_VALUE int high_nibble(uint8_t byte) {
  return byte >> 4;
}

// The 4-bit value of element i of a small block.
RZ_VALUE int nibble(const uint8_t* qs, int i) {
  return i < 16 ? low_nibble(qs[i]) : high_nibble(qs[i - 16]);
}

RZ_VALUE int fifth_bit(const uint8_t* qh, int i) {
  return ((qh[i / 8] >> (i % 8)) & 1) << 4;
}

// The 4-bit value of element l of sub-block s of Q4_K and Q5_K.
RZ_VALUE int k_nibble(const uint8_t* qs, int s, int l) {
  const uint8_t byte = qs[32 * (s / 2) + l];
  return s % 2 == 0 ? low_nibble(byte) : high_nibble(byte);
}

// 2^(e - 128), which is subnormal for e below 2: the doubled values of kE2M1Doubled take half the scale.
RZ_VALUE float mxfp4_half_scale(uint8_t e) {
  return float_of_bits(e < 2 ? 0x200000u << e : (e - 1u) << 23);
}

RZ_VALUE float value_of(const BlockQ4_0& b, int i) {
  return half_to_float(b.d) * static_cast<float>(nibble(b.qs, i) - 8);
}

RZ_VALUE float value_of(const BlockQ4_1& b, int i) {
  return half_to_float(b.d) * static_cast<float>(nibble(b.qs, i)) + half_to_float(b.m);
}

RZ_VALUE float value_of(const BlockQ5_0& b, int i) {
  return half_to_float(b.d) * static_cast<float>((nibble(b.qs, i) | fifth_bit(b.qh, i)) - 16);
}

RZ_VALUE float value_of(const BlockQ5_1& b, int i) {
  return half_to_float(b.d) * static_cast<float>(nibble(b.qs, i) | fifth_bit(b.qh, i)) + half_to_float(b.m);
}

RZ_VALUE float value_of(const BlockQ8_0& b, int i) {
  return half_to_float(b.d) * static_cast<float>(b.qs[i]);
}

RZ_VALUE float value_of(const BlockIQ4_NL& b, int i) {
  return half_to_float(b.d) * static_cast<float>(kIq4Levels.level[nibble(b.qs, i)]);
}

RZ_VALUE float value_of(const BlockMXFP4& b, int i) {
  return mxfp4_half_scale(b.e) * static_cast<float>(kE2M1Doubled.level[nibble(b.qs, i)]);
}

RZ_VALUE float value_of(const BlockQ2_K& b, int i) {
  const int h = i / 128, j = i % 128 / 32, l = i % 32, s = i / 16;
  const int q = (b.qs[32 * h + l] >> (2 * j)) & 3;
  const float scale = half_to_float(b.d) * static_cast<float>(low_nibble(b.scales[s]));
  const float min = half_to_float(b.dmin) * static_cast<float>(high_nibble(b.scales[s]));
  return scale * static_cast<float>(q) - min;
}

RZ_VALUE float value_of(const BlockQ3_K& b, int i) {
  const int h = i / 128, j = i % 128 / 32, l = i % 32;
  const int low = (b.qs[32 * h + l] >> (2 * j)) & 3;
  const int high = (b.hmask[l] >> (4 * h + j)) & 1;
  const float scale = half_to_float(b.d) * static_cast<float>(q3_k_scale(b.scales, i / 16));
  return scale * static_cast<float>((low | (high << 2)) - 4);
}

RZ_VALUE float value_of(const BlockQ4_K& b, int i) {
  const ScaleMin sm = q4_k_scale_min(b.scales, i / 32);
  const float scale = half_to_float(b.d) * sm.scale;
  return scale * static_cast<float>(k_nibble(b.qs, i / 32, i % 32)) - half_to_float(b.dmin) * sm.min;
}

RZ_VALUE float value_of(const BlockQ5_K& b, int i) {
  const int s = i / 32, l = i % 32;
  const ScaleMin sm = q4_k_scale_min(b.scales, s);
  const int q = k_nibble(b.qs, s, l) | (((b.qh[l] >> s) & 1) << 4);
  return half_to_float(b.d) * sm.scale * static_cast<float>(q) - half_to_float(b.dmin) * sm.min;
}

RZ_VALUE float value_of(const BlockQ6_K& b, int i) {
  const int h = i / 128, j = i % 128 / 32, l = i % 32;
  const uint8_t byte = b.ql[64 * h + 32 * (j & 1) + l];
  const int low = j < 2 ? low_nibble(byte) : high_nibble(byte);
  const int high = (b.qh[32 * h + l] >> (2 * j)) & 3;
  const float scale = half_to_float(b.d) * static_cast<float>(b.scales[i / 16]);
  return scale * static_cast<float>((low | (high << 4)) - 32);
}

RZ_VALUE float value_of(const BlockIQ4_XS& b, int i) {
  const int s = i / 32;
  const float scale = half_to_float(b.d) * static_cast<float>(iq4_xs_scale(b, s));
  return scale * static_cast<float>(kIq4Levels.level[nibble(b.qs + 16 * s, i % 32)]);
}

RZ_VALUE float value_of(const BlockQ8_K& b, int i) {
  return b.d * static_cast<float>(b.qs[i]);
}

RZ_VALUE float with_sign(float scale, int level, uint32_t signs, int k) {
  return scale * static_cast<float>((signs >> k & 1) != 0 ? -level : level);
}

// The level of digit k of a point, for IQ1, IQ2, IQ3_XXS and IQ3_S.
RZ_VALUE int iq1_level(uint16_t point, int k) {
  return ((point >> (2 * k)) & 3) - 1;
}
RZ_VALUE int iq2_level(uint16_t point, int k) {
  return kIq2Levels[(point >> (2 * k)) & 3];
}
RZ_VALUE int iq3_xxs_level(uint16_t point, int k) {
  return kIq3XxsLevels[(point >> (3 * k)) & 7];
}
RZ_VALUE int iq3_s_level(uint16_t point, int k) {
  return 2 * ((point >> (3 * k)) & 7) + 1;
}

// The scale of a sub-block of IQ2 and IQ3_XXS, without a factor.
RZ_VALUE float half_up_scale(Half d, uint32_t scale) {
  return half_to_float(d) * (0.5f + static_cast<float>(scale));
}

RZ_VALUE float value_of(const BlockIQ2_XXS& b, int i) {
  const uint32_t signs = iq2_xxs_signs(b, i / 32);
  const float d = half_up_scale(b.d, signs >> 28) * 0.25f;
  const int level = iq2_level(kIq2xxsGrid.points[iq2_xxs_point(b, i / 8)], i % 8);
  return with_sign(d, level, signs_of_seven(signs >> (7 * (i / 8 % 4))), i % 8);
}

RZ_VALUE float value_of(const BlockIQ2_XS& b, int i) {
  const uint32_t bits = b.qs[i / 8];
  const float d = half_up_scale(b.d, (b.scales[i / 32] >> (i / 16 % 2 * 4)) & 15) * 0.25f;
  return with_sign(d, iq2_level(kIq2xsGrid.points[bits & 511], i % 8), signs_of_seven(bits >> 9), i % 8);
}

RZ_VALUE float value_of(const BlockIQ2_S& b, int i) {
  const float d = half_up_scale(b.d, (b.scales[i / 32] >> (i / 16 % 2 * 4)) & 15) * 0.25f;
  return with_sign(d, iq2_level(kIq2sGrid.points[iq2_s_point(b, i / 8)], i % 8), b.signs[i / 8], i % 8);
}

RZ_VALUE float value_of(const BlockIQ3_XXS& b, int i) {
  const uint32_t signs = iq3_xxs_signs(b, i / 32);
  const float d = half_up_scale(b.d, signs >> 28) * 0.5f;
  const int level = iq3_xxs_level(kIq3xxsGrid.points[b.qs[i / 4]], i % 4);
  return with_sign(d, level, signs_of_seven(signs >> (7 * (i / 8 % 4))), i % 8);
}

RZ_VALUE float value_of(const BlockIQ3_S& b, int i) {
  const int scale = 1 + 2 * ((b.scales[i / 64] >> (i / 32 % 2 * 4)) & 15);
  const float d = half_to_float(b.d) * static_cast<float>(scale);
  return with_sign(d, iq3_s_level(kIq3sGrid.points[iq3_s_point(b, i / 4)], i % 4), b.signs[i / 8], i % 8);
}

RZ_VALUE float iq1_value(Half d, int scale, int point, bool is_below, int k) {
  const float level = static_cast<float>(iq1_level(kIq1Grid.points[point], k)) + (is_below ? -0.125f : 0.125f);
  return half_to_float(d) * static_cast<float>(scale) * level;
}

RZ_VALUE float value_of(const BlockIQ1_S& b, int i) {
  const int scale = 2 * ((b.qh[i / 32] >> 12) & 7) + 1;
  return iq1_value(b.d, scale, iq1_s_point(b, i / 8), (b.qh[i / 32] & 0x8000) != 0, i % 8);
}

RZ_VALUE float value_of(const BlockIQ1_M& b, int i) {
  return iq1_value(iq1_m_d(b), iq1_m_scale(b, i / 16), iq1_m_point(b, i / 8), iq1_m_is_below(b, i / 8), i % 8);
}

RZ_VALUE float value_of(const BlockTQ1_0& b, int i) {
  const TernaryPlace at = tq1_0_place(i);
  return half_to_float(b.d) * static_cast<float>(ternary_digit(at.in_qh ? b.qh[at.byte] : b.qs[at.byte], at.digit) - 1);
}

RZ_VALUE float value_of(const BlockTQ2_0& b, int i) {
  const int q = (b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
  return half_to_float(b.d) * static_cast<float>(q - 1);
}

RZ_VALUE float value_of(const BlockQ1_0& b, int i) {
  return half_to_float(b.d) * static_cast<float>(2 * ((b.qs[i / 8] >> (i % 8)) & 1) - 1);
}

RZ_VALUE float value_of(const BlockQ2_0& b, int i) {
  return half_to_float(b.d) * static_cast<float>(((b.qs[i / 4] >> (i % 4 * 2)) & 3) - 1);
}

// An E4M3 number without sign, halved: kE2M1Doubled takes half the scale.
RZ_VALUE float nvfp4_half_scale(uint8_t scale) {
  const uint32_t magnitude = scale & 0x7fu;
  return float_of_bits(magnitude == 0x7f ? 0x7fc00000u : magnitude << 20) * 0x1p119f;
}

RZ_VALUE float value_of(const BlockNVFP4& b, int i) {
  const int q = (b.qs[i / 16 * 8 + i % 8] >> (i % 16 / 8 * 4)) & 15;
  return nvfp4_half_scale(b.scales[i / 16]) * static_cast<float>(kE2M1Doubled.level[q]);
}
