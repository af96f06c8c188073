// Sixteen lanes in two registers. F: f32, I: i32, B: 64 bytes.
struct F {
  __m256 v[2];
};
struct I {
  __m256i v[2];
};
struct B {
  __m256i v[2];
};

constexpr int kDotRows = 4;
constexpr int kDirectRows = 8;
constexpr int kGemmRows = 3;
constexpr int kInt8Rows = 4;
constexpr int kInt8Panels = 1;
constexpr int kScorePanels = 1;
constexpr int kValueVectors = 1;

inline F zero() {
  return {{_mm256_setzero_ps(), _mm256_setzero_ps()}};
}
inline F set1(float x) {
  return {{_mm256_set1_ps(x), _mm256_set1_ps(x)}};
}
inline F load(const float* p) {
  return {{_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}};
}
inline void store(float* p, F a) {
  _mm256_storeu_ps(p, a.v[0]);
  _mm256_storeu_ps(p + 8, a.v[1]);
}
inline F load_f16(const void* p) {
  const auto* half = static_cast<const __m128i*>(p);
  return {{_mm256_cvtph_ps(_mm_loadu_si128(half)), _mm256_cvtph_ps(_mm_loadu_si128(half + 1))}};
}
inline __m256 widen_bf16(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
inline F load_bf16(const void* p) {
  const auto* half = static_cast<const __m128i*>(p);
  return {{widen_bf16(_mm_loadu_si128(half)), widen_bf16(_mm_loadu_si128(half + 1))}};
}
inline __m256 widen_f8(__m128i x) {
  const __m256i bits = _mm256_and_si256(_mm256_slli_epi32(_mm256_cvtepi8_epi32(x), 20), _mm256_set1_epi32(kF8Bits));
  return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(kF8Scale));
}
inline F load_f8(const void* p) {
  const __m128i x = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {{widen_f8(x), widen_f8(_mm_srli_si128(x, 8))}};
}
// One F16 value in all lanes.
inline F set1_f16(const void* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, 2);
  const __m256 wide = _mm256_set1_ps(_cvtsh_ss(bits));
  return {{wide, wide}};
}
inline F load_u8(const void* p) {
  const __m128i x = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {
      {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x)), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(x, 8)))}};
}
inline F load_i8(const void* p) {
  const __m128i x = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {
      {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(x, 8)))}};
}
inline F add(F a, F b) {
  return {{_mm256_add_ps(a.v[0], b.v[0]), _mm256_add_ps(a.v[1], b.v[1])}};
}
inline F sub(F a, F b) {
  return {{_mm256_sub_ps(a.v[0], b.v[0]), _mm256_sub_ps(a.v[1], b.v[1])}};
}
inline F mul(F a, F b) {
  return {{_mm256_mul_ps(a.v[0], b.v[0]), _mm256_mul_ps(a.v[1], b.v[1])}};
}
inline F div(F a, F b) {
  return {{_mm256_div_ps(a.v[0], b.v[0]), _mm256_div_ps(a.v[1], b.v[1])}};
}
inline F fma(F a, F b, F c) {
  return {{_mm256_fmadd_ps(a.v[0], b.v[0], c.v[0]), _mm256_fmadd_ps(a.v[1], b.v[1], c.v[1])}};
}
inline F max(F a, F b) {
  return {{_mm256_max_ps(a.v[0], b.v[0]), _mm256_max_ps(a.v[1], b.v[1])}};
}
inline F min(F a, F b) {
  return {{_mm256_min_ps(a.v[0], b.v[0]), _mm256_min_ps(a.v[1], b.v[1])}};
}
inline F round(F a) {
  return {{_mm256_round_ps(a.v[0], 8), _mm256_round_ps(a.v[1], 8)}};
}
inline F abs(F a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {{_mm256_andnot_ps(sign, a.v[0]), _mm256_andnot_ps(sign, a.v[1])}};
}
inline F copy_sign(F magnitude, F sign) {
  const __m256 m = _mm256_set1_ps(-0.0f);
  return {{_mm256_or_ps(_mm256_andnot_ps(m, magnitude.v[0]), _mm256_and_ps(m, sign.v[0])),
           _mm256_or_ps(_mm256_andnot_ps(m, magnitude.v[1]), _mm256_and_ps(m, sign.v[1]))}};
}
inline __m256 pow2(__m256 n) {
  const __m256i bits = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 23));
}
inline F times_pow2(F a, F n) {
  return {{_mm256_mul_ps(a.v[0], pow2(n.v[0])), _mm256_mul_ps(a.v[1], pow2(n.v[1]))}};
}
inline I set1_i(int32_t x) {
  return {{_mm256_set1_epi32(x), _mm256_set1_epi32(x)}};
}
inline I add_i(I a, I b) {
  return {{_mm256_add_epi32(a.v[0], b.v[0]), _mm256_add_epi32(a.v[1], b.v[1])}};
}
inline F to_float(I a) {
  return {{_mm256_cvtepi32_ps(a.v[0]), _mm256_cvtepi32_ps(a.v[1])}};
}
// Reinterprets the bits.
inline F as_float(I a) {
  return {{_mm256_castsi256_ps(a.v[0]), _mm256_castsi256_ps(a.v[1])}};
}
inline I to_int(F a) {
  return {{_mm256_cvtps_epi32(a.v[0]), _mm256_cvtps_epi32(a.v[1])}};
}
inline void store_i8(int8_t* p, I a) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.v[0], a.v[1]), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
inline B load_bytes(const uint8_t* p) {
  const auto* q = reinterpret_cast<const __m256i*>(p);
  return {{_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)}};
}
inline void store_bytes(uint8_t* p, B a) {
  auto* q = reinterpret_cast<__m256i*>(p);
  _mm256_storeu_si256(q, a.v[0]);
  _mm256_storeu_si256(q + 1, a.v[1]);
}
template <int kShift>
inline B shift_right(B a) {
  return {{_mm256_srli_epi16(a.v[0], kShift), _mm256_srli_epi16(a.v[1], kShift)}};
}
template <int kShift>
inline B shift_left(B a) {
  return {{_mm256_slli_epi16(a.v[0], kShift), _mm256_slli_epi16(a.v[1], kShift)}};
}
inline B mask(B a, uint8_t m) {
  const __m256i wide = _mm256_set1_epi8(static_cast<char>(m));
  return {{_mm256_and_si256(a.v[0], wide), _mm256_and_si256(a.v[1], wide)}};
}
inline B either(B a, B b) {
  return {{_mm256_or_si256(a.v[0], b.v[0]), _mm256_or_si256(a.v[1], b.v[1])}};
}
inline B look_up(B index, const uint8_t* table16) {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table16)));
  return {{_mm256_shuffle_epi8(table, index.v[0]), _mm256_shuffle_epi8(table, index.v[1])}};
}
template <int kByte>
inline I lane_byte(B a) {
  const __m256i low = _mm256_set1_epi32(255);
  return {{_mm256_and_si256(_mm256_srli_epi32(a.v[0], 8 * kByte), low),
           _mm256_and_si256(_mm256_srli_epi32(a.v[1], 8 * kByte), low)}};
}
// A partial sum of products: 32-bit lanes with VNNI, else 16-bit ones, which must be widened before they overflow.
using Part = I;
constexpr float kPartSeed = 0;
inline Part begin_part() {
  return set1_i(0);
}
#if defined(RZ_AVX_VNNI)
template <int kMaxCode>
constexpr int run_length() {
  return 8;
}
template <int kMaxCode>
constexpr int code_bias() {
  return 0;
}
template <int kMaxCode>
inline __m256i dot4_half(__m256i part, __m256i codes, __m256i q) {
  return _mm256_dpbusd_avx_epi32(part, codes, q);
}
template <int kMaxCode>
inline I whole(Part part) {
  return part;
}
#else
// Two products per 16-bit lane and step, |quant| <= 127.
template <int kMaxCode>
constexpr int run_length() {
  constexpr int fits = 32767 / (2 * 127 * kMaxCode);
  return fits >= 8 ? 8 : fits >= 4 ? 4 : fits >= 2 ? 2 : 1;
}
// Codes above 127 are multiplied as signed numbers.
template <int kMaxCode>
constexpr int code_bias() {
  return kMaxCode > 127 ? 128 : 0;
}
template <int kMaxCode>
inline __m256i dot4_half(__m256i part, __m256i codes, __m256i q) {
  if constexpr (kMaxCode > 127) {
    const __m256i level = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
    return _mm256_maddubs_epi16(_mm256_abs_epi8(level), _mm256_sign_epi8(q, level));
  } else {
    return _mm256_add_epi16(part, _mm256_maddubs_epi16(codes, q));
  }
}
template <int kMaxCode>
inline I whole(Part part) {
  const __m256i ones = _mm256_set1_epi16(1);
  return {{_mm256_madd_epi16(part.v[0], ones), _mm256_madd_epi16(part.v[1], ones)}};
}
#endif
template <int kMaxCode>
inline Part dot4(Part part, B codes, const int8_t* q) {
  int32_t four;
  __builtin_memcpy(&four, q, 4);
  const __m256i wide = _mm256_set1_epi32(four);
  return {{dot4_half<kMaxCode>(part.v[0], codes.v[0], wide), dot4_half<kMaxCode>(part.v[1], codes.v[1], wide)}};
}
// The sum of all lanes, by halves: 8, 4, 2, 1.
inline float reduce(F a) {
  const __m256 eight = _mm256_add_ps(a.v[0], a.v[1]);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float reduce_max(F a) {
  const __m256 eight = _mm256_max_ps(a.v[0], a.v[1]);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
