// Loops that only keep one unit busy, to measure its peak.

constexpr uint32_t kPeakChains = kGemmRows == 12 ? 16 : 4;  // independent sums, enough to hide the latency

float peak_read(const uint8_t* bytes, size_t n_bytes) {
  F a[4] = {zero(), zero(), zero(), zero()};
  for (size_t i = 0; i + 256 <= n_bytes; i += 256) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) a[k] = max(a[k], load(reinterpret_cast<const float*>(bytes + i + 64 * k)));
  }
  return reduce(max(max(a[0], a[1]), max(a[2], a[3])));
}

float peak_fma(uint32_t n_steps) {
  F a[kPeakChains];
  for (F& chain : a) chain = set1(1.0f);
  for (uint32_t i = 0; i < n_steps; ++i) {
    const F x = set1(static_cast<float>(i & 1) * 0.5f);
#pragma GCC unroll 16
    for (F& chain : a) chain = fma(chain, x, x);
  }
  for (const F& chain : a) a[0] = add(a[0], chain);
  return reduce(a[0]);
}

float peak_int8(uint32_t n_steps) {
  Part a[kPeakChains];
  for (Part& chain : a) chain = begin_part();
  uint8_t bytes[64] = {1, 2, 3, 4};
  const B codes_in = load_bytes(bytes);
  for (uint32_t i = 0; i < n_steps; ++i) {
    const int8_t q[4] = {static_cast<int8_t>(i & 1), 0, 1, 2};
#pragma GCC unroll 16
    for (Part& chain : a) chain = dot4<15>(chain, codes_in, q);
  }
  F sum_of = zero();
  for (const Part& chain : a) sum_of = add(sum_of, to_float(whole<15>(chain)));
  return reduce(sum_of);
}
