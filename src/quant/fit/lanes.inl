// Eight floats at a time, in the compiler's own vectors: two SSE or NEON registers or one AVX register. Each sum has
// the same order for every instruction set, so the blocks are the same. A function that takes or returns lanes by value
// is always inlined, since their calling convention depends on the instruction set.

#define RZ_LANES inline __attribute__((always_inline))

using V8 [[gnu::vector_size(32)]] = float;
using V4 [[gnu::vector_size(16)]] = float;
using I8 [[gnu::vector_size(32)]] = int32_t;
using U8 [[gnu::vector_size(32)]] = uint32_t;

RZ_LANES V8 lanes(float value) {
  return V8{} + value;
}
RZ_LANES V8 lower(V8 a, V8 b) {
  return a < b ? a : b;
}
RZ_LANES V8 higher(V8 a, V8 b) {
  return a > b ? a : b;
}
RZ_LANES V8 magnitude(V8 a) {
  return __builtin_bit_cast(V8, __builtin_bit_cast(U8, a) & 0x7fffffffu);
}
// To the nearest integer, ties to even, for values below 2^22.
RZ_LANES V8 rounded(V8 a) {
  return (a + 0x1.8p23f) - 0x1.8p23f;
}
// 1 where a > b, else 0.
RZ_LANES V8 is_above(V8 a, float b) {
  return a > lanes(b) ? lanes(1) : lanes(0);
}
RZ_LANES V4 folded(V8 a) {
  return __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
}
RZ_LANES float sum(V4 a) {
  const V4 pairs = a + __builtin_shufflevector(a, a, 2, 3, 0, 1);
  return pairs[0] + pairs[1];
}
RZ_LANES float sum(V8 a) {
  return sum(folded(a));
}
RZ_LANES float highest(V8 a) {
  const V4 low = __builtin_shufflevector(a, a, 0, 1, 2, 3), high = __builtin_shufflevector(a, a, 4, 5, 6, 7);
  const V4 of_pairs = low > high ? low : high, turned = __builtin_shufflevector(of_pairs, of_pairs, 2, 3, 0, 1);
  const V4 max = of_pairs > turned ? of_pairs : turned;
  return max[0] > max[1] ? max[0] : max[1];
}
// Whole numbers as integers.
RZ_LANES void store_integers(V8 a, int32_t* to) {
  const I8 integers = __builtin_convertvector(a, I8);
  std::memcpy(to, &integers, sizeof integers);
}

RZ_LANES float inverse(float value) {
  return value != 0 ? 1 / value : 0;
}
RZ_LANES int nearest_int(float value, int low, int high) {
  const float bounded = value < static_cast<float>(low)    ? static_cast<float>(low)
                        : value > static_cast<float>(high) ? static_cast<float>(high)
                                                           : value;
  return static_cast<int>((bounded + 0x1.8p23f) - 0x1.8p23f);
}

// A block's values and weights, normalized: values are divided by a power of two near the largest of them, so that none
// of their squares overflows or vanishes.
template <int kElems>
struct Input {
  static constexpr int kVecs = kElems / 8;
  V8 x[kVecs], w[kVecs];
  float unit, inverse_unit;

  // The scale as it will be decoded.
  float stored(float scale, Half& bits) const {
    const float wanted = scale * unit;
    bits = float_to_fp16(wanted > 65504 ? 65504 : wanted < -65504 ? -65504 : wanted);
    return fp16_to_float(bits) * inverse_unit;
  }

  // The sum of w x x.
  RZ_LANES float squares() const {
    V8 all = lanes(0);
    for (int i = 0; i < kVecs; ++i) all += w[i] * x[i] * x[i];
    return sum(all);
  }
};

inline float power_of_two_below(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0x7f800000u);
}

// weights: null, or one for each value. Values below 2^-126 count as zero.
template <int kElems>
void prepare(const float* x, const float* weights, Input<kElems>& in) {
  V8 largest = lanes(0), heaviest = lanes(0);
  for (int i = 0; i < in.kVecs; ++i) {
    std::memcpy(&in.x[i], x + 8 * i, sizeof(V8));
    largest = higher(largest, magnitude(in.x[i]));
  }
  const float unit = power_of_two_below(highest(largest));
  in.unit = unit > 0 ? unit : 1;
  in.inverse_unit = 1 / in.unit;
  const float factor = unit > 0 ? in.inverse_unit : 0;
  for (int i = 0; i < in.kVecs; ++i) in.x[i] *= factor;
  for (int i = 0; i < in.kVecs; ++i) in.w[i] = lanes(1);
  if (weights == nullptr) return;
  for (int i = 0; i < in.kVecs; ++i) {
    std::memcpy(&in.w[i], weights + 8 * i, sizeof(V8));
    heaviest = higher(heaviest, in.w[i]);
  }
  const float weight = power_of_two_below(highest(heaviest));
  for (int i = 0; i < in.kVecs; ++i) in.w[i] = weight > 0 ? in.w[i] * (1 / weight) : lanes(1);
}
