// Sixteen lanes as arrays. F: f32, I: i32, B: 64 bytes.
struct F {
  float v[16];
};
struct I {
  int32_t v[16];
};
struct B {
  uint8_t v[64];
};

constexpr int kDotRows = 2;
constexpr int kDirectRows = 8;
constexpr int kGemmRows = 2;
constexpr int kInt8Rows = 2;
constexpr int kInt8Panels = 1;
constexpr int kScorePanels = 1;
constexpr int kValueVectors = 1;

inline F set1(float x) {
  F r;
  for (float& lane : r.v) lane = x;
  return r;
}
inline F zero() {
  return set1(0);
}
inline F load(const float* p) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = p[i];
  return r;
}
inline void store(float* p, F a) {
  for (int i = 0; i < 16; ++i) p[i] = a.v[i];
}
inline float float_of_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
inline uint32_t bits_of_float(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
inline float half_to_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, mantissa = half & 0x3ffu;
  if (exponent == 0) return float_of_bits(bits_of_float(static_cast<float>(mantissa) * 0x1p-24f) | sign);
  if (exponent == 31) return float_of_bits(sign | 0x7f800000u | (mantissa << 13));
  return float_of_bits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}
inline F load_f16(const void* p) {
  uint16_t half[16];
  __builtin_memcpy(half, p, sizeof half);
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = half_to_float(half[i]);
  return r;
}
inline F load_bf16(const void* p) {
  uint16_t half[16];
  __builtin_memcpy(half, p, sizeof half);
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = float_of_bits(static_cast<uint32_t>(half[i]) << 16);
  return r;
}
inline F load_f8(const void* p) {
  int8_t codes[16];
  __builtin_memcpy(codes, p, sizeof codes);
  F r;
  for (int i = 0; i < 16; ++i) {
    r.v[i] = float_of_bits((static_cast<uint32_t>(codes[i]) << 20) & static_cast<uint32_t>(kF8Bits)) * kF8Scale;
  }
  return r;
}
// One F16 value in all lanes.
inline F set1_f16(const void* p) {
  uint16_t bits[16] = {};
  __builtin_memcpy(bits, p, 2);
  return set1(load_f16(bits).v[0]);
}
inline F load_u8(const void* p) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = static_cast<float>(static_cast<const uint8_t*>(p)[i]);
  return r;
}
inline F load_i8(const void* p) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = static_cast<float>(static_cast<const int8_t*>(p)[i]);
  return r;
}
inline F add(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] + b.v[i];
  return a;
}
inline F sub(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] - b.v[i];
  return a;
}
inline F mul(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] * b.v[i];
  return a;
}
inline F div(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] / b.v[i];
  return a;
}
inline F max(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return a;
}
inline F min(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
  return a;
}
inline F copy_sign(F a, F b) {
  for (int i = 0; i < 16; ++i) a.v[i] = __builtin_copysignf(a.v[i], b.v[i]);
  return a;
}
inline F times_pow2(F a, F b) {
  for (int i = 0; i < 16; ++i)
    a.v[i] = a.v[i] * float_of_bits(static_cast<uint32_t>(static_cast<int32_t>(b.v[i]) + 127) << 23);
  return a;
}
inline F fma(F a, F b, F c) {
  for (int i = 0; i < 16; ++i) c.v[i] += a.v[i] * b.v[i];
  return c;
}
inline F round(F a) {
  for (float& lane : a.v) lane = __builtin_rintf(lane);
  return a;
}
inline F abs(F a) {
  for (float& lane : a.v) lane = __builtin_fabsf(lane);
  return a;
}
inline I set1_i(int32_t x) {
  I r;
  for (int32_t& lane : r.v) lane = x;
  return r;
}
inline I add_i(I a, I b) {
  for (int i = 0; i < 16; ++i) a.v[i] += b.v[i];
  return a;
}
inline F to_float(I a) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = static_cast<float>(a.v[i]);
  return r;
}
// Reinterprets the bits.
inline F as_float(I a) {
  F r;
  __builtin_memcpy(r.v, a.v, sizeof(r.v));
  return r;
}
inline I to_int(F a) {
  I r;
  for (int i = 0; i < 16; ++i) r.v[i] = static_cast<int32_t>(__builtin_rintf(a.v[i]));
  return r;
}
inline void store_i8(int8_t* p, I a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.v[i]);
}
inline B load_bytes(const uint8_t* p) {
  B r;
  __builtin_memcpy(r.v, p, 64);
  return r;
}
inline void store_bytes(uint8_t* p, B a) {
  __builtin_memcpy(p, a.v, 64);
}
// Shifts of bytes; the caller masks bits that come from a neighbouring byte.
template <int kShift>
inline B shift_right(B a) {
  for (uint8_t& byte : a.v) byte = static_cast<uint8_t>(byte >> kShift);
  return a;
}
template <int kShift>
inline B shift_left(B a) {
  for (uint8_t& byte : a.v) byte = static_cast<uint8_t>(byte << kShift);
  return a;
}
inline B mask(B a, uint8_t m) {
  for (uint8_t& byte : a.v) byte &= m;
  return a;
}
inline B either(B a, B b) {
  for (int i = 0; i < 64; ++i) a.v[i] |= b.v[i];
  return a;
}
inline B look_up(B index, const uint8_t* table16) {
  for (uint8_t& byte : index.v) byte = table16[byte];
  return index;
}
template <int kByte>
inline I lane_byte(B a) {
  I r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[4 * i + kByte];
  return r;
}
// A partial sum of products.
using Part = I;
constexpr float kPartSeed = 0;
inline Part begin_part() {
  return set1_i(0);
}
template <int kMaxCode>
inline Part dot4(Part part, B codes, const int8_t* q) {
  for (int i = 0; i < 16; ++i) {
    for (int c = 0; c < 4; ++c) part.v[i] += codes.v[4 * i + c] * q[c];
  }
  return part;
}
template <int kMaxCode>
constexpr int run_length() {
  return 8;
}
template <int kMaxCode>
inline I whole(Part part) {
  return part;
}
template <int kMaxCode>
constexpr int code_bias() {
  return 0;
}
// The sum of all lanes, by halves: 8, 4, 2, 1.
inline float reduce(F a) {
  float lanes[16];
  store(lanes, a);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

inline float reduce_max(F a) {
  float lanes[16];
  store(lanes, a);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i] > lanes[i + width] ? lanes[i] : lanes[i + width];
  }
  return lanes[0];
}
