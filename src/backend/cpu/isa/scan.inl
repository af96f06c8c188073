// Rows of a state space scan. A lane is an element of the state; each dimension of the head has its own sum. A tile of
// the state stays in registers while the rows pass through it, and their sums wait in memory for the next tile of the
// same dimensions. The operations on an element or a sum do not depend on the tiles or the number of rows.

constexpr int kScanVectors = 4;
// Dimensions that share the loads of b and c: as many as fit the registers.
constexpr int kScanTileDims = kValueVectors < 4 ? 1 : 4;

// Applies the rows to elements k.. of dimensions dim.., and adds to their sums.
template <bool kDecaysEach, int kDims, int kVectors, bool kIsTail>
RZ_INLINE void scan_tile(const ScanRows& rows, Lanes<kVectors, kIsTail> lanes, uint32_t dim, uint32_t k,
                         uint32_t d_state, float* state, F (*sums)[kDims]) {
  F tile[kDims][kVectors];
  state += size_t{dim} * d_state + k;
  for (int i = 0; i < kDims; ++i) {
    for (int j = 0; j < kVectors; ++j) tile[i][j] = lanes.get(state + size_t{d_state} * i, j);
  }
  for (uint32_t r = 0; r < rows.n_rows; ++r) {
    const float *x = rows.x + r * rows.x_stride + dim, *b = rows.b + r * rows.b_stride + k,
                *c = rows.c + r * rows.c_stride + k;
    const F t = set1(rows.t[r]), decay = kDecaysEach ? zero() : set1(rows.decay[r]);
    F tx[kDims], sum[kDims];
    for (int i = 0; i < kDims; ++i) {
      tx[i] = mul(t, set1(x[i]));
      sum[i] = sums[r][i];
    }
    for (int j = 0; j < kVectors; ++j) {
      const F kept = kDecaysEach ? exp_of(mul(t, lanes.get(rows.a + k, j))) : decay;
      const F in = lanes.get(b, j), out = lanes.get(c, j);
      for (int i = 0; i < kDims; ++i) {
        tile[i][j] = fma(tx[i], in, mul(kept, tile[i][j]));
        sum[i] = fma(tile[i][j], out, sum[i]);
      }
    }
    for (int i = 0; i < kDims; ++i) sums[r][i] = sum[i];
  }
  for (int i = 0; i < kDims; ++i) {
    for (int j = 0; j < kVectors; ++j) lanes.put(state + size_t{d_state} * i, tile[i][j], j);
  }
}

template <bool kDecaysEach, int kDims>
void scan_dims(const ScanRows& rows, uint32_t dim, uint32_t d_state, float* state) {
  F sums[kScanRows][kDims];
  for (uint32_t r = 0; r < rows.n_rows; ++r) {
    for (F& sum : sums[r]) sum = zero();
  }
  for_each_lanes<kScanVectors>(d_state, [&](auto lanes, uint32_t k) {
    scan_tile<kDecaysEach, kDims>(rows, lanes, dim, k, d_state, state, sums);
  });
  for (uint32_t r = 0; r < rows.n_rows; ++r) {
    const float* x = rows.x + r * rows.x_stride + dim;
    float* out = rows.out + r * rows.out_stride + dim;
    for (int i = 0; i < kDims; ++i) out[i] = reduce(sums[r][i]) + rows.d * x[i];
  }
}

// Dimensions are processed one by one if each element has its own decay, since the exponentials are nearly all of the
// work; and for a single row, which is bound by memory, so that the state is read in order.
void scan_rows(const ScanRows& rows, uint32_t head_dim, uint32_t d_state, float* state) {
  const bool decays_each = rows.a != nullptr, shares_loads = !decays_each && rows.n_rows > 1;
  uint32_t dim = 0;
  for (; shares_loads && dim + kScanTileDims <= head_dim; dim += kScanTileDims) {
    scan_dims<false, kScanTileDims>(rows, dim, d_state, state);
  }
  for (; dim < head_dim; ++dim) {
    decays_each ? scan_dims<true, 1>(rows, dim, d_state, state) : scan_dims<false, 1>(rows, dim, d_state, state);
  }
}
