// Kernels on vectors of activations: quantizing, sums, elementwise functions.

void quantize(const float* x, uint32_t n, ActGroup* groups) {
  for (uint32_t g = 0; g < n / 32; ++g) {
    const F a = load(x + 32 * g), b = load(x + 32 * g + 16);
    const float largest = reduce_max(max(abs(a), abs(b)));
    const F inverse = set1(largest > 0x1p-120f ? 127.0f / largest : 0.0f);
    const I low = to_int(mul(a, inverse)), high = to_int(mul(b, inverse));
    ActGroup& group = groups[g];
    store_i8(group.quants, low);
    store_i8(group.quants + 16, high);
    group.scale = largest / 127.0f;
    group.halves[0] = reduce(to_float(low));
    group.halves[1] = reduce(to_float(high));
    group.sum = group.halves[0] + group.halves[1];
    group.scaled_sum = group.scale * group.sum;
  }
}

float dot_f32(const float* a, const float* b, uint32_t n) {
  F acc = zero();
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) acc = fma(load(a + i), load(b + i), acc);
  if (i < n) acc = fma(load_tail(a + i, n - i), load_tail(b + i, n - i), acc);
  return reduce(acc);
}

float sum(const float* a, uint32_t n) {
  F acc = zero();
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) acc = add(acc, load(a + i));
  if (i < n) acc = add(acc, load_tail(a + i, n - i));
  return reduce(acc);
}

inline void store_tail(float* p, F a, uint32_t n) {
  float lanes[16];
  store(lanes, a);
  for (uint32_t i = 0; i < n; ++i) p[i] = lanes[i];
}

// Adjacent vectors: all full, or one with its first n lanes.
template <int kVectors, bool kIsTail>
struct Lanes {
  uint32_t n = 16 * kVectors;  // in all vectors

  RZ_INLINE F get(const float* p, int i = 0) const { return kIsTail ? load_tail(p, n) : load(p + 16 * i); }
  RZ_INLINE void put(float* p, F x, int i = 0) const { kIsTail ? store_tail(p, x, n) : store(p + 16 * i, x); }
};

// Calls body(lanes, first) for lanes starting at element `first`, until n elements are covered.
template <int kVectors, class Body>
RZ_INLINE void for_each_lanes(uint32_t n, const Body& body) {
  uint32_t first = 0;
  for (; first + 16 * kVectors <= n; first += 16 * kVectors) body(Lanes<kVectors, false>{}, first);
  for (; first + 16 <= n; first += 16) body(Lanes<1, false>{}, first);
  if (first < n) body(Lanes<1, true>{n - first}, first);
}

void axpy(float alpha, const float* x, float* y, uint32_t n) {
  const F a = set1(alpha);
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, fma(a, load(x + i), load(y + i)));
  if (i < n) store_tail(y + i, fma(a, load_tail(x + i, n - i), load_tail(y + i, n - i)), n - i);
}

void scale(float alpha, float* x, uint32_t n) {
  const F a = set1(alpha);
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(x + i, mul(a, load(x + i)));
  if (i < n) store_tail(x + i, mul(a, load_tail(x + i, n - i)), n - i);
}

void mul_add(const float* a, const float* b, float* y, uint32_t n) {
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, fma(load(a + i), load(b + i), load(y + i)));
  if (i < n) store_tail(y + i, fma(load_tail(a + i, n - i), load_tail(b + i, n - i), load_tail(y + i, n - i)), n - i);
}

// e^x = 2^n e^r, |r| <= ln(2) / 2, by the Taylor polynomial of degree 7: relative error below 3e-7 on [-87, 88],
// where x is clamped.
RZ_INLINE F exp_of(F x) {
  x = min(max(x, set1(-87.0f)), set1(88.0f));
  const F n = round(mul(x, set1(1.44269504f)));
  F r = fma(n, set1(-0.693145752f), x);
  r = fma(n, set1(-1.42860677e-6f), r);
  F p = set1(1.0f / 5040);
  p = fma(p, r, set1(1.0f / 720));
  p = fma(p, r, set1(1.0f / 120));
  p = fma(p, r, set1(1.0f / 24));
  p = fma(p, r, set1(1.0f / 6));
  p = fma(p, r, set1(0.5f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  return times_pow2(p, n);
}

// tanh |x| = 1 - 2 / (e^(2|x|) + 1): absolute error below 3e-7.
RZ_INLINE F tanh_of(F x) {
  const F e = exp_of(mul(abs(x), set1(2.0f)));
  return copy_sign(sub(set1(1.0f), div(set1(2.0f), add(e, set1(1.0f)))), x);
}

// Abramowitz and Stegun, formula 7.1.26: absolute error below 1e-6 in F32.
RZ_INLINE F erf_of(F x) {
  const F a = abs(x);
  const F t = div(set1(1.0f), fma(a, set1(0.3275911f), set1(1.0f)));
  F p = set1(1.061405429f);
  p = fma(p, t, set1(-1.453152027f));
  p = fma(p, t, set1(1.421413741f));
  p = fma(p, t, set1(-0.284496736f));
  p = fma(p, t, set1(0.254829592f));
  const F e = exp_of(sub(zero(), mul(a, a)));
  return copy_sign(sub(set1(1.0f), mul(mul(p, t), e)), x);
}

RZ_INLINE F sigmoid_of(F x) {
  return div(set1(1.0f), add(set1(1.0f), exp_of(sub(zero(), x))));
}

// log(1 + e^x) = max(x, 0) + log(1 + u), u = e^-|x|, and log(1 + u) = 2 artanh(s), s = u / (2 + u) <= 1/3, by its
// series up to s^15: relative error below 1e-6.
RZ_INLINE F softplus_of(F x) {
  const F u = exp_of(sub(zero(), abs(x)));
  const F s = div(u, add(set1(2.0f), u)), square = mul(s, s);
  F p = set1(1.0f / 15);
  for (int n = 13; n > 0; n -= 2) p = fma(p, square, set1(1.0f / static_cast<float>(n)));
  return fma(mul(s, set1(2.0f)), p, max(x, zero()));
}

RZ_INLINE F mapped(MapKind kind, F x) {
  switch (kind) {
    case MapKind::kNone:
      return x;
    case MapKind::kSilu:
      return div(x, add(set1(1.0f), exp_of(sub(zero(), x))));
    case MapKind::kGelu: {
      const F inner = mul(set1(0.797884561f), fma(mul(set1(0.044715f), mul(x, x)), x, x));
      return mul(mul(set1(0.5f), x), add(set1(1.0f), tanh_of(inner)));
    }
    case MapKind::kGeluErf:
      return mul(mul(set1(0.5f), x), add(set1(1.0f), erf_of(mul(x, set1(0.707106781f)))));
    case MapKind::kNormalCdf:
      return mul(set1(0.5f), add(set1(1.0f), erf_of(mul(x, set1(0.707106781f)))));
    case MapKind::kRelu:
      return max(x, zero());
    case MapKind::kReluSquared:
      return mul(max(x, zero()), max(x, zero()));
    case MapKind::kTanh:
      return tanh_of(x);
    case MapKind::kExp:
      return exp_of(x);
    case MapKind::kClampedSwiglu: {
      const F gate = min(x, set1(7.0f));
      return div(gate, add(set1(1.0f), exp_of(mul(gate, set1(-1.702f)))));
    }
    case MapKind::kClampedPlusOne:
      return add(min(max(x, set1(-7.0f)), set1(7.0f)), set1(1.0f));
    case MapKind::kSigmoid:
      return sigmoid_of(x);
    case MapKind::kSoftplus:
      return softplus_of(x);
  }
  return x;
}

void map(MapKind kind, float* x, uint32_t n) {
  if (kind == MapKind::kNone) return;
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) store(x + i, mapped(kind, load(x + i)));
  if (i < n) store_tail(x + i, mapped(kind, load_tail(x + i, n - i)), n - i);
}
