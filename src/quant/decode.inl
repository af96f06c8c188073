// What the elements of a block are: value_of() of every block type is its specification, which all kernels must match.
// For files that are included within a namespace, and compiled for the processor or for a GPU. Who includes it gives
// - RZ_VALUE, which stands before a function, and RZ_TABLE, before a table of constants;
// - half_to_float(bits), and float_of_bits(bits), the float with these bits.

// The 16 levels of the non-linear 4-bit types.
RZ_TABLE int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Twice the E2M1 values, so that they are integers; the scale is halved instead.
RZ_TABLE int8_t kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The points that groups of elements may take, in rising order of their numbers, whose digits are the elements' levels,
// that of the first element the lowest.
struct PointGrid {
  uint16_t points[512];
};

// The points of IQ3_S are numbers of four octal digits; digit k is the level 2k + 1. Each character says how far a
// point is from the one before it: '1' for one more.
constexpr char kIq3Steps[] =
    R"(11132111222146523222527331112414334247=456142133343463222=386432723642=243;4236636?:2<245642?5;3)"
    R"(2>A?722<245=4D1124122212732>239612324573672>62:3214663:3:7331366145A6;252=27424E73672?W43=2K2527)"
    R"(<4A68122212223241272232=13232634334367H33:2572:4:34234925276>;693734I3759=1;=825:L4D4=2;5J722237)"
    R"(225232:6822752=@:42:6:2<I7452419246>86547A64=72;5::=CCP2=2;S46643377@:522765664D2554:5?36<525274)"
    R"(S2B;1I<2:QIADH5;;6I646>433<6522579P69:56=G51?=5<663<:<T<C2gP2>g22<2E@@7MFB6;568<5?e>?>3IDEKY2e43)"
    R"(92<2<6@7;?2L34637AIH3>F465HZ@PGW)";

constexpr PointGrid make_iq3_s_grid() {
  PointGrid grid{};
  int point = -1;
  for (int i = 0; i < 512; ++i) {
    point += kIq3Steps[i] - '0';
    grid.points[i] = static_cast<uint16_t>(point);
  }
  return grid;
}
RZ_TABLE PointGrid kIq3sGrid = make_iq3_s_grid();

// The points of IQ2_XS are numbers of eight digits 0 to 2, whose levels are kIq2Levels; an even number of the digits
// are 1, and steps count only such numbers. A point has two bits a digit.
constexpr char kIq2Steps[] =
    R"(111111111111121111111213111212151111111111311121332139111213513274:11111112131112112513911121351)"
    R"(354>13721><1111113231336941139>3:93F25111111121311121341139111213513961711299B111213512163>139K6)"
    R"(;H13186:;2GRE1111111351399513938@:A<21381K>5@68N2315;:7M6<6C21:111111121311111132313911121351392)"
    R"(8413171K11121215139681363F54;3G139244A5:38@W11121332139>13271J?I1135495943H3D@;4684A>51g<139646:)"
    R"(1c7?87V92F\JIPA4A111213411391;11112953C9B18321311798:?G:C>38;51;4`A345213978<:>U::2=33PC1F]DCN@B)"
    R"(12154GG3A212:>9BDx::512H33K1G1C8)";
RZ_TABLE int8_t kIq2Levels[4] = {8, 25, 43, 0};

// The digits of a number to the base of 3, two bits each.
constexpr int spread_digits(int number) {
  int digits = 0;
  for (int k = 0; k < 8; ++k, number /= 3) digits |= number % 3 << (2 * k);
  return digits;
}
constexpr bool has_even_ones(int digits) {
  int ones = digits & 0x5555;
  for (const int half : {8, 4, 2}) ones ^= ones >> half;
  return (ones & 1) == 0;
}
constexpr PointGrid make_iq2_xs_grid() {
  PointGrid grid{};
  int number = -1;
  for (int i = 0; i < 512; ++i) {
    for (int steps = kIq2Steps[i] - '0'; steps > 0;) steps -= has_even_ones(spread_digits(++number)) ? 1 : 0;
    grid.points[i] = static_cast<uint16_t>(spread_digits(number));
  }
  return grid;
}
RZ_TABLE PointGrid kIq2xsGrid = make_iq2_xs_grid();

RZ_VALUE int low_nibble(uint8_t byte) {
  return byte & 15;
}
RZ_VALUE int high_nibble(uint8_t byte) {
  return byte >> 4;
}

// The four-bit value of element i of a small block.
RZ_VALUE int nibble(const uint8_t* qs, int i) {
  return i < 16 ? low_nibble(qs[i]) : high_nibble(qs[i - 16]);
}

RZ_VALUE int fifth_bit(const uint8_t* qh, int i) {
  return ((qh[i / 8] >> (i % 8)) & 1) << 4;
}

// The four-bit value of element l of sub-block s of Q4_K and Q5_K.
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
  return half_to_float(b.d) * static_cast<float>(kIq4Values[nibble(b.qs, i)]);
}

RZ_VALUE float value_of(const BlockMXFP4& b, int i) {
  return mxfp4_half_scale(b.e) * static_cast<float>(kE2M1Doubled[nibble(b.qs, i)]);
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
  return scale * static_cast<float>(kIq4Values[nibble(b.qs + 16 * s, i % 32)]);
}

RZ_VALUE float value_of(const BlockQ8_K& b, int i) {
  return b.d * static_cast<float>(b.qs[i]);
}

// Element k of a point.
RZ_VALUE int iq3_s_level(uint16_t point, int k) {
  return 2 * ((point >> (3 * k)) & 7) + 1;
}

RZ_VALUE float value_of(const BlockIQ3_S& b, int i) {
  const int s = i / 32, quad = i / 4;
  const int point = b.qs[quad] | (((b.qh[s] >> (quad % 8)) & 1) << 8);
  const int level = iq3_s_level(kIq3sGrid.points[point], i % 4);
  const int scale = 1 + 2 * ((b.scales[s / 2] >> (4 * (s % 2))) & 15);
  const bool is_negative = ((b.signs[i / 8] >> (i % 8)) & 1) != 0;
  return half_to_float(b.d) * static_cast<float>(scale) * static_cast<float>(is_negative ? -level : level);
}

RZ_VALUE int iq2_xs_level(uint16_t point, int k) {
  return kIq2Levels[(point >> (2 * k)) & 3];
}

RZ_VALUE float value_of(const BlockIQ2_XS& b, int i) {
  const int bits = b.qs[i / 8], k = i % 8;
  const int signs = bits >> 9, folded = signs ^ (signs >> 4), parity = (0x6996 >> (folded & 15)) & 1;
  const bool is_negative = ((signs | (parity << 7)) >> k & 1) != 0;
  const int level = iq2_xs_level(kIq2xsGrid.points[bits & 511], k);
  const int scale = (b.scales[i / 32] >> (i / 16 % 2 * 4)) & 15;
  const float d = half_to_float(b.d) * (0.5f + static_cast<float>(scale)) * 0.25f;
  return d * static_cast<float>(is_negative ? -level : level);
}
