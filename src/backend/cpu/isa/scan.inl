// One row of a state space's scan. A lane is an element of the state; each dimension of the head has a sum of its own.

// The next state of elements k and after of a dimension, and what they add to its sum.
template <bool kDecaysEach, bool kIsTail>
RZ_INLINE F scan_lanes(const ScanRow& row, Lanes<1, kIsTail> lanes, F tx, uint32_t k, float* state, F sum) {
  const F decay = kDecaysEach ? exp_of(mul(set1(row.t), lanes.get(row.a + k))) : set1(row.decay);
  const F next = fma(tx, lanes.get(row.b + k), mul(decay, lanes.get(state + k)));
  lanes.put(state + k, next);
  return fma(next, lanes.get(row.c + k), sum);
}

template <bool kDecaysEach>
void scan_dimensions(const ScanRow& row, uint32_t head_dim, uint32_t d_state, float* state) {
  for (uint32_t i = 0; i < head_dim; ++i, state += d_state) {
    const F tx = set1(row.t * row.x[i]);
    F sum = zero();
    uint32_t k = 0;
    for (; k + 16 <= d_state; k += 16) sum = scan_lanes<kDecaysEach, false>(row, {}, tx, k, state, sum);
    if (k < d_state) sum = scan_lanes<kDecaysEach, true>(row, {d_state - k}, tx, k, state, sum);
    row.out[i] = reduce(sum) + row.d * row.x[i];
  }
}

void scan_row(const ScanRow& row, uint32_t head_dim, uint32_t d_state, float* state) {
  row.a == nullptr ? scan_dimensions<false>(row, head_dim, d_state, state)
                   : scan_dimensions<true>(row, head_dim, d_state, state);
}
