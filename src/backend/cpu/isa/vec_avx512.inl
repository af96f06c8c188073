// Sixteen lanes in one register. F: f32, I: i32, B: 64 bytes.
struct F {
  __m512 v;
};
struct I {
  __m512i v;
};
struct B {
  __m512i v;
};

constexpr int kDotRows = 12;
constexpr int kDirectRows = 32;
constexpr int kGemmRows = 12;
constexpr int kInt8Rows = 4;
constexpr int kInt8Panels = 2;
constexpr int kScorePanels = 2;
constexpr int kValueVectors = 4;

inline F zero() {
  return {_mm512_setzero_ps()};
}
inline F set1(float x) {
  return {_mm512_set1_ps(x)};
}
inline F load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline void store(float* p, F a) {
  _mm512_storeu_ps(p, a.v);
}
inline F load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline F load_bf16(const void* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
inline F load_f8(const void* p) {
  const __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  const __m512i bits = _mm512_and_si512(_mm512_slli_epi32(wide, 20), _mm512_set1_epi32(kF8Bits));
  return {_mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(kF8Scale))};
}
// One F16 value in all lanes.
inline F set1_f16(const void* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, 2);
  return {_mm512_set1_ps(_cvtsh_ss(bits))};
}
inline F load_u8(const void* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))))};
}
inline F load_i8(const void* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))))};
}
inline F add(F a, F b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline F sub(F a, F b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline F mul(F a, F b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline F div(F a, F b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline F fma(F a, F b, F c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline F max(F a, F b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline F min(F a, F b) {
  return {_mm512_min_ps(a.v, b.v)};
}
inline F round(F a) {
  return {_mm512_roundscale_ps(a.v, 8)};
}
inline F abs(F a) {
  return {_mm512_abs_ps(a.v)};
}
inline F copy_sign(F magnitude, F sign) {
  const __m512 mask = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(mask, magnitude.v), _mm512_and_ps(mask, sign.v))};
}
// a * 2^n for an integer n in [-126, 127]
inline F times_pow2(F a, F n) {
  const __m512i bits = _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127)), 23);
  return {_mm512_mul_ps(a.v, _mm512_castsi512_ps(bits))};
}
inline I set1_i(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
inline I add_i(I a, I b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline F to_float(I a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
// Reinterprets the bits.
inline F as_float(I a) {
  return {_mm512_castsi512_ps(a.v)};
}
inline I to_int(F a) {
  return {_mm512_cvtps_epi32(a.v)};
}
inline void store_i8(int8_t* p, I a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
inline B load_bytes(const uint8_t* p) {
  return {_mm512_loadu_si512(p)};
}
inline void store_bytes(uint8_t* p, B a) {
  _mm512_storeu_si512(p, a.v);
}
template <int kShift>
inline B shift_right(B a) {
  return {_mm512_srli_epi16(a.v, kShift)};
}
template <int kShift>
inline B shift_left(B a) {
  return {_mm512_slli_epi16(a.v, kShift)};
}
inline B mask(B a, uint8_t m) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi8(static_cast<char>(m)))};
}
inline B either(B a, B b) {
  return {_mm512_or_si512(a.v, b.v)};
}
inline B look_up(B index, const uint8_t* table16) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table16));
  return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), index.v)};
}
// Byte kByte of each lane.
template <int kByte>
inline I lane_byte(B a) {
  return {_mm512_and_si512(_mm512_srli_epi32(a.v, 8 * kByte), _mm512_set1_epi32(255))};
}
// A partial sum of products.
using Part = I;
// Initial bits of a part, those of the float 1.5 * 2^23. The bits of a complete part are then a float that exceeds the
// sum by exactly this, which one subtraction removes together with the codes' offset.
constexpr float kPartSeed = 0x1.8p23f;
constexpr int32_t kPartSeedBits = 0x4b400000;
inline Part begin_part() {
  return set1_i(kPartSeedBits);
}
// part + sum of 4 unsigned codes times the 4 signed bytes at `q`, exact.
template <int kMaxCode>
inline Part dot4(Part part, B codes, const int8_t* q) {
  int32_t four;
  __builtin_memcpy(&four, q, 4);
  return {_mm512_dpbusd_epi32(part.v, codes.v, _mm512_set1_epi32(four))};
}
// Number of products that a Part holds.
template <int kMaxCode>
constexpr int run_length() {
  return 8;
}
template <int kMaxCode>
inline I whole(Part part) {
  return part;
}
// Bias that dot4 subtracts from each code before multiplying.
template <int kMaxCode>
constexpr int code_bias() {
  return 0;
}
// The sum of all lanes, by halves: 8, 4, 2, 1.
inline float reduce(F a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float reduce_max(F a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
// Stores two adjacent columns of 16 rows as bf16 pairs.
#if defined(RZ_BF16)
inline void store_interleaved(uint16_t* p, __m512i columns) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi16(order, columns));
}
inline void store_bf16_pairs(uint16_t* p, F even, F odd) {
  store_interleaved(p, (__m512i)_mm512_cvtne2ps_pbh(odd.v, even.v));
}
// store_bf16_pairs for consecutive columns that are bf16 already.
inline void interleave_columns(uint16_t* p, const uint8_t* columns) {
  store_interleaved(p, _mm512_loadu_si512(columns));
}
inline F round_bf16(F a) {
  return {(__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(a.v)), 16)};
}
inline void store_bf16(uint16_t* p, F a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh(a.v));
}
#endif
