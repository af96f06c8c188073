// Products of weight rows with activation rows. A warp makes one column of the output for some rows, which read the
// weights once. The order of its sums follows from the weight's shape alone: lane l takes the groups (or columns) l,
// l + 32.., then the lanes meet in a butterfly.

constexpr uint32_t kDotWarps = 4;
constexpr int kDotRows = 4;

RZ_DEVICE float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1.0f + expf(-x));
    case Activation::kGelu:
      return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
    case Activation::kGeluErf:
      return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
    case Activation::kRelu:
      return fmaxf(x, 0.0f);
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0.0f;
  }
  return x;
}

// Lane r gets what row `rows[r]` gives with the weight row; other lanes nothing of use.
template <class Format, int kRows>
RZ_DEVICE float dot_rows(const Matrix& m, uint64_t row, const float* in, const QuantRows& quants,
                         const uint32_t (&rows)[kRows], uint32_t lane) {
  float sums[kRows] = {};
  Format::dot(m, row, in, quants, rows, lane, sums);
  float own = 0;
  for (uint32_t r = 0; r < kRows; ++r) {
    const float sum = warp_sum(sums[r]);
    own = lane == r ? sum : own;
  }
  return own;
}

struct DotPlace {
  uint32_t lane, col;  // the weight row
  uint32_t row;        // whose result is this lane's
  uint32_t rows[kDotRows];
};

// Rows beyond the last are the last again, and not written.
RZ_DEVICE DotPlace dot_place(uint32_t first_row, uint32_t end_row) {
  DotPlace p{};
  p.lane = thread_idx() % 32;
  p.col = block_x() * kDotWarps + thread_idx() / 32;
  p.row = first_row + block_y() * kDotRows + p.lane;
  for (uint32_t r = 0; r < kDotRows; ++r) {
    const uint32_t row = first_row + block_y() * kDotRows + r;
    p.rows[r] = row < end_row ? row : end_row - 1;
  }
  return p;
}

RZ_DEVICE void store(Store how, Activation activation, float y, float* out) {
  *out = how == Store::kSet ? y : how == Store::kAdd ? *out + y : activated(activation, *out) * y;
}

// What a LinearArgs makes of the product of weight row `col` and row `row`.
RZ_DEVICE void finish_linear(const LinearArgs& a, uint32_t row, uint32_t col, float y) {
  if (a.bias != nullptr) y += a.bias[col];
  if (a.store != Store::kGate) y = activated(a.activation, y) * a.scale;
  if (a.softcap > 0) y = a.softcap * tanhf(y / a.softcap);
  store(a.store, a.activation, y, a.out + uint64_t{row} * a.weight.n_rows + col);
}

// rows_each: rows of the output a block.
inline Grid dot_grid(uint32_t n_cols, uint32_t n_rows, uint32_t rows_each) {
  return {(n_cols + kDotWarps - 1) / kDotWarps, (n_rows + rows_each - 1) / rows_each};
}
