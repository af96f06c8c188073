// Sixteen lanes in four registers. F: f32, I: i32, B: 64 bytes.
struct F {
  float32x4_t v[4];
};
struct I {
  int32x4_t v[4];
};
struct B {
  uint8x16_t v[4];
};

constexpr int kDotRows = 4;
constexpr int kDirectRows = 8;
constexpr int kGemmRows = 2;
constexpr int kInt8Rows = 4;
constexpr int kInt8Panels = 1;
constexpr int kScorePanels = 1;
constexpr int kValueVectors = 1;

inline F set1(float x) {
  const float32x4_t a = vdupq_n_f32(x);
  return {{a, a, a, a}};
}
inline F zero() {
  return set1(0);
}
inline F load(const float* p) {
  return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}
inline void store(float* p, F a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
}
inline F load_f16(const void* p) {
  float16x4_t half[4];
  __builtin_memcpy(half, p, sizeof half);
  return {{vcvt_f32_f16(half[0]), vcvt_f32_f16(half[1]), vcvt_f32_f16(half[2]), vcvt_f32_f16(half[3])}};
}
inline F load_bf16(const void* p) {
  uint16x4_t half[4];
  __builtin_memcpy(half, p, sizeof half);
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vreinterpretq_f32_u32(vshll_n_u16(half[i], 16));
  return r;
}
inline float32x4_t widen_f8(int16x4_t x) {
  const int32x4_t bits = vandq_s32(vshlq_n_s32(vmovl_s16(x), 20), vdupq_n_s32(kF8Bits));
  return vmulq_n_f32(vreinterpretq_f32_s32(bits), kF8Scale);
}
inline F load_f8(const void* p) {
  const int8x16_t bytes = vld1q_s8(static_cast<const int8_t*>(p));
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  return {{widen_f8(vget_low_s16(low)), widen_f8(vget_high_s16(low)), widen_f8(vget_low_s16(high)),
           widen_f8(vget_high_s16(high))}};
}
// One F16 value in all lanes.
inline F set1_f16(const void* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, 2);
  const float32x4_t a = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits)));
  return {{a, a, a, a}};
}
inline F load_u8(const void* p) {
  const uint8x16_t bytes = vld1q_u8(static_cast<const uint8_t*>(p));
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
  return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(low))),
           vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(high)))}};
}
inline F load_i8(const void* p) {
  const int8x16_t bytes = vld1q_s8(static_cast<const int8_t*>(p));
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
           vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
}
inline F add(F a, F b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vaddq_f32(a.v[i], b.v[i]);
  return a;
}
inline F sub(F a, F b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vsubq_f32(a.v[i], b.v[i]);
  return a;
}
inline F mul(F a, F b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vmulq_f32(a.v[i], b.v[i]);
  return a;
}
inline F div(F a, F b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vdivq_f32(a.v[i], b.v[i]);
  return a;
}
inline F fma(F a, F b, F c) {
  for (int i = 0; i < 4; ++i) c.v[i] = vfmaq_f32(c.v[i], a.v[i], b.v[i]);
  return c;
}
// Returns b if either is NaN, as on other levels.
inline F max(F a, F b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vbslq_f32(vcgtq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]);
  return a;
}
inline F min(F a, F b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]);
  return a;
}
inline F round(F a) {
  for (float32x4_t& x : a.v) x = vrndnq_f32(x);
  return a;
}
inline F abs(F a) {
  for (float32x4_t& x : a.v) x = vabsq_f32(x);
  return a;
}
inline F copy_sign(F magnitude, F sign) {
  const uint32x4_t mask = vdupq_n_u32(0x80000000u);
  for (int i = 0; i < 4; ++i) magnitude.v[i] = vbslq_f32(mask, sign.v[i], magnitude.v[i]);
  return magnitude;
}
// a * 2^n for an integer n in [-126, 127]
inline F times_pow2(F a, F n) {
  for (int i = 0; i < 4; ++i) {
    const int32x4_t bits = vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127)), 23);
    a.v[i] = vmulq_f32(a.v[i], vreinterpretq_f32_s32(bits));
  }
  return a;
}
inline I set1_i(int32_t x) {
  const int32x4_t a = vdupq_n_s32(x);
  return {{a, a, a, a}};
}
inline I add_i(I a, I b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vaddq_s32(a.v[i], b.v[i]);
  return a;
}
inline F to_float(I a) {
  return {{vcvtq_f32_s32(a.v[0]), vcvtq_f32_s32(a.v[1]), vcvtq_f32_s32(a.v[2]), vcvtq_f32_s32(a.v[3])}};
}
// Reinterprets the bits.
inline F as_float(I a) {
  return {{vreinterpretq_f32_s32(a.v[0]), vreinterpretq_f32_s32(a.v[1]), vreinterpretq_f32_s32(a.v[2]),
           vreinterpretq_f32_s32(a.v[3])}};
}
inline I to_int(F a) {
  return {{vcvtnq_s32_f32(a.v[0]), vcvtnq_s32_f32(a.v[1]), vcvtnq_s32_f32(a.v[2]), vcvtnq_s32_f32(a.v[3])}};
}
inline void store_i8(int8_t* p, I a) {
  const int16x8_t low = vcombine_s16(vmovn_s32(a.v[0]), vmovn_s32(a.v[1]));
  const int16x8_t high = vcombine_s16(vmovn_s32(a.v[2]), vmovn_s32(a.v[3]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}
inline B load_bytes(const uint8_t* p) {
  return {{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}
inline void store_bytes(uint8_t* p, B a) {
  for (int i = 0; i < 4; ++i) vst1q_u8(p + 16 * i, a.v[i]);
}
template <int kShift>
inline B shift_right(B a) {
  if constexpr (kShift > 0) {
    for (uint8x16_t& x : a.v) x = vshrq_n_u8(x, kShift);
  }
  return a;
}
template <int kShift>
inline B shift_left(B a) {
  for (uint8x16_t& x : a.v) x = vshlq_n_u8(x, kShift);
  return a;
}
inline B mask(B a, uint8_t m) {
  for (uint8x16_t& x : a.v) x = vandq_u8(x, vdupq_n_u8(m));
  return a;
}
inline B either(B a, B b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vorrq_u8(a.v[i], b.v[i]);
  return a;
}
inline B look_up(B index, const uint8_t* table16) {
  const uint8x16_t table = vld1q_u8(table16);
  for (uint8x16_t& x : index.v) x = vqtbl1q_u8(table, x);
  return index;
}
// Byte kByte of each lane.
template <int kByte>
inline I lane_byte(B a) {
  I r;
  for (int i = 0; i < 4; ++i) {
    uint32x4_t lane = vreinterpretq_u32_u8(a.v[i]);
    if constexpr (kByte > 0) lane = vshrq_n_u32(lane, 8 * kByte);
    r.v[i] = vreinterpretq_s32_u32(vandq_u32(lane, vdupq_n_u32(255)));
  }
  return r;
}
// A partial sum of products.
using Part = I;
constexpr float kPartSeed = 0;
inline Part begin_part() {
  return set1_i(0);
}
template <int kMaxCode>
constexpr int run_length() {
  return 8;
}
template <int kMaxCode>
inline I whole(Part part) {
  return part;
}
#if defined(__ARM_FEATURE_MATMUL_INT8)
template <int kMaxCode>
constexpr int code_bias() {
  return 0;
}
template <int kMaxCode>
inline int32x4_t dot_bytes(int32x4_t sum, uint8x16_t codes, int8x16_t b) {
  return vusdotq_s32(sum, codes, b);
}
#else
// Bytes are multiplied as signed numbers, so larger codes are shifted down.
template <int kMaxCode>
constexpr int code_bias() {
  return kMaxCode > 127 ? 128 : 0;
}
template <int kMaxCode>
inline int32x4_t dot_bytes(int32x4_t sum, uint8x16_t codes, int8x16_t b) {
  if constexpr (kMaxCode > 127) codes = veorq_u8(codes, vdupq_n_u8(0x80));
  const int8x16_t a = vreinterpretq_s8_u8(codes);
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(sum, a, b);
#else
  // Sums of two products fit 16 bits: |a| <= 128, |b| <= 127.
  const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b)), high = vmull_high_s8(a, b);
  return vpadalq_s16(sum, vpaddq_s16(low, high));
#endif
}
#endif
template <int kMaxCode>
inline Part dot4(Part part, B codes, const int8_t* q) {
  int32_t four;
  __builtin_memcpy(&four, q, 4);
  const int8x16_t wide = vreinterpretq_s8_s32(vdupq_n_s32(four));
  for (int i = 0; i < 4; ++i) part.v[i] = dot_bytes<kMaxCode>(part.v[i], codes.v[i], wide);
  return part;
}
// The sum of all lanes, by halves: 8, 4, 2, 1.
inline float reduce(F a) {
  const float32x4_t four = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}
inline float reduce_max(F a) {
  const float32x4_t four = vmaxq_f32(vmaxq_f32(a.v[0], a.v[2]), vmaxq_f32(a.v[1], a.v[3]));
  return vmaxvq_f32(four);
}
