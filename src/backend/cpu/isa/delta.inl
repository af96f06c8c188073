// One row of a delta rule. A lane is a column of the state: its sums run over the key dimensions in four chains, each
// with every fourth dimension in ascending order, so that additions do not wait for each other.

constexpr uint32_t kChains = 4;
// Vectors per pass, so that the sums of all chains fit the registers.
constexpr int kDeltaVectors = kValueVectors < 2 ? 1 : 2;

template <int kVectors>
struct ChainSums {
  F of[kChains][kVectors];

  RZ_INLINE ChainSums() {
    for (auto& chain : of) {
      for (F& sum : chain) sum = zero();
    }
  }
  RZ_INLINE F total(int i) const { return add(add(of[0][i], of[1][i]), add(of[2][i], of[3][i])); }
};

// Calls body(j, chain) for every key dimension.
template <class Body>
RZ_INLINE void for_each_key(uint32_t key_dim, const Body& body) {
  uint32_t j = 0;
  for (; j + kChains <= key_dim; j += kChains) {
    for (uint32_t chain = 0; chain < kChains; ++chain) body(j + chain, chain);
  }
  for (uint32_t chain = 0; j < key_dim; ++j, ++chain) body(j, chain);
}

// `stride`: columns per row of the state.
template <bool kDecaysEach, int kVectors, bool kIsTail>
RZ_INLINE void take_columns(const DeltaRow& row, uint32_t key_dim, Lanes<kVectors, kIsTail> columns, uint32_t first,
                            uint32_t stride, float* state) {
  const F decay = set1(row.decay[0]);
  state += first;
  ChainSums<kVectors> learnt;
  for_each_key(
      key_dim, [&](uint32_t j, uint32_t chain) __attribute__((always_inline)) {
        const F k = set1(kDecaysEach ? row.k[j] * row.decay[j] : row.k[j]);
        for (int i = 0; i < kVectors; ++i) {
          learnt.of[chain][i] = fma(columns.get(state + size_t{j} * stride, i), k, learnt.of[chain][i]);
        }
      });
  F change[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    const F sum = kDecaysEach ? learnt.total(i) : mul(decay, learnt.total(i));
    change[i] = mul(set1(row.share), sub(columns.get(row.v + first, i), sum));
  }
  ChainSums<kVectors> out;
  for_each_key(
      key_dim, [&](uint32_t j, uint32_t chain) __attribute__((always_inline)) {
        const F k = set1(row.k[j]), q = set1(row.q[j]), kept = kDecaysEach ? set1(row.decay[j]) : decay;
        for (int i = 0; i < kVectors; ++i) {
          float* at = state + size_t{j} * stride;
          const F next = fma(change[i], k, mul(kept, columns.get(at, i)));
          columns.put(at, next, i);
          out.of[chain][i] = fma(next, q, out.of[chain][i]);
        }
      });
  for (int i = 0; i < kVectors; ++i) columns.put(row.out + first, out.total(i), i);
}

template <bool kDecaysEach>
void take_row(const DeltaRow& row, uint32_t key_dim, uint32_t n_cols, float* state) {
  for_each_lanes<kDeltaVectors>(n_cols, [&](auto columns, uint32_t first) {
    take_columns<kDecaysEach>(row, key_dim, columns, first, n_cols, state);
  });
}

void delta_row(const DeltaRow& row, uint32_t key_dim, uint32_t n_decays, uint32_t n_cols, float* state) {
  n_decays == 1 ? take_row<false>(row, key_dim, n_cols, state) : take_row<true>(row, key_dim, n_cols, state);
}
