// One row of RWKV-7's time mix. Lanes, columns and chains are those of a delta rule.

template <int kVectors, bool kIsTail>
RZ_INLINE void take_wkv_columns(const WkvRow& row, uint32_t head_dim, Lanes<kVectors, kIsTail> columns, uint32_t first,
                                uint32_t stride, float* state) {
  state += first;
  ChainSums<kVectors> removed;
  for_each_key(
      head_dim, [&](uint32_t j, uint32_t chain) __attribute__((always_inline)) {
        const F key = set1(row.removal[j]);
        for (int i = 0; i < kVectors; ++i) {
          removed.of[chain][i] = fma(columns.get(state + size_t{j} * stride, i), key, removed.of[chain][i]);
        }
      });
  F value[kVectors], lost[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    value[i] = columns.get(row.v + first, i);
    lost[i] = sub(zero(), removed.total(i));
  }
  ChainSums<kVectors> out;
  for_each_key(
      head_dim, [&](uint32_t j, uint32_t chain) __attribute__((always_inline)) {
        const F k = set1(row.k[j]), r = set1(row.r[j]), kept = set1(row.decay[j]), rate = set1(row.rate[j]);
        for (int i = 0; i < kVectors; ++i) {
          float* at = state + size_t{j} * stride;
          const F next = fma(value[i], k, fma(lost[i], rate, mul(kept, columns.get(at, i))));
          columns.put(at, next, i);
          out.of[chain][i] = fma(next, r, out.of[chain][i]);
        }
      });
  for (int i = 0; i < kVectors; ++i) columns.put(row.out + first, out.total(i), i);
}

void wkv_row(const WkvRow& row, uint32_t head_dim, uint32_t n_cols, float* state) {
  for_each_lanes<kDeltaVectors>(
      n_cols, [&](auto columns, uint32_t first) { take_wkv_columns(row, head_dim, columns, first, n_cols, state); });
}
