// Products of weight rows with activation rows. A warp computes two columns of the output. The order of its sums
// depends only on the weight's shape.
//
// Group types: 32 groups of columns are a chunk, lane l has group l of each. The four lanes of a quad add theirs, (0 +
// 1) + (2 + 3); a quad's sums add up over the chunks; finally the quads are added in a butterfly, neighbours first.
// Eight warps with one quad's groups each can thus compute the same sums (linear_few.inl).
// Plain types: a lane has 16 bytes of weights in each 512, one column after the other; the lanes are added in a
// butterfly.
// Stored types: as plain types, with 4 columns in each 128, decoded one by one.

constexpr uint32_t kDotWarps = 4;
constexpr uint32_t kDotCols = 2;
constexpr uint32_t kChunkGroups = 32;

// Rows, columns and groups beyond the last repeat it, and are not used.
RZ_DEVICE uint32_t clamped(uint32_t i, uint32_t end) {
  return i < end ? i : end - 1;
}

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
    case Activation::kNormalCdf:
      return 0.5f * (1.0f + erff(x * 0.70710678118654752f));
    case Activation::kRelu:
      return fmaxf(x, 0.0f);
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0.0f;
    case Activation::kXielu:  // in finished()
      return x;
    case Activation::kClampedSwiglu: {
      const float gate = fminf(x, kSwigluLimit);
      return gate / (1.0f + expf(-kSwigluAlpha * gate));
    }
    case Activation::kSigmoid:
      return 1.0f / (1.0f + expf(-x));
  }
  return x;
}

RZ_DEVICE float xielu(const Xielu& c, float x) {
  const float own = x > 0 ? c.alpha_p * x * x : c.alpha_n * (expm1f(fminf(x, c.eps)) - x);
  return own + c.beta * x;
}

// The factor on the activated gate.
RZ_DEVICE float gated(Activation activation, float up) {
  return activation == Activation::kClampedSwiglu ? fminf(fmaxf(up, -kSwigluLimit), kSwigluLimit) + 1.0f : up;
}

// Products of one group of activations with the columns' groups, before they are added by quad.
template <class Format>
RZ_DEVICE void multiply_groups(const typename Format::Stored (&stored)[kDotCols], const QuantRows& in, uint64_t at,
                               float (&products)[kDotCols]) {
  const Words4 first = load_words4(in.codes + 8 * at), second = load_words4(in.codes + 8 * at + 4);
  const float scale = in.scales[at];
  const int32_t halves = Format::kOffset != 0 || Format::kSums > 0 ? in.halves[at] : 0;
  int32_t codes[8];
  for (int k = 0; k < 4; ++k) {
    codes[k] = static_cast<int32_t>(first.word[k]);
    codes[4 + k] = static_cast<int32_t>(second.word[k]);
  }
  for (uint32_t c = 0; c < kDotCols; ++c) {
    int32_t words[8];
    Format::raised_codes(stored[c], words);
    products[c] = scale * Format::multiply(words, Format::group_scales(stored[c]), codes, halves);
  }
}

// Group types: sums = the columns' products with the row. A chunk is loaded while the previous one is multiplied.
template <class Format>
RZ_DEVICE void dot_groups(const Matrix& m, const uint64_t (&cols)[kDotCols], const QuantRows& in, uint64_t row,
                          float (&sums)[kDotCols]) {
  const uint32_t lane = thread_idx() % 32, n_groups = m.n_cols / kGroupCols;
  typename Format::Stored next[kDotCols];
  for (uint32_t c = 0; c < kDotCols; ++c) next[c] = Format::load(m, cols[c], clamped(lane, n_groups));
  for (uint32_t chunk = 0; chunk < n_groups; chunk += kChunkGroups) {
    const uint32_t g = chunk + lane, next_g = g + kChunkGroups;
    typename Format::Stored stored[kDotCols];
    for (uint32_t c = 0; c < kDotCols; ++c) {
      stored[c] = next[c];
      if (next_g < n_groups) next[c] = Format::load(m, cols[c], next_g);
    }
    float products[kDotCols];
    multiply_groups<Format>(stored, in, row * n_groups + clamped(g, n_groups), products);
    for (uint32_t c = 0; c < kDotCols; ++c) sums[c] += quad_sum(g < n_groups ? products[c] : 0.0f);
  }
  for (uint32_t c = 0; c < kDotCols; ++c) {
    for (uint32_t step = 4; step < 32; step *= 2) sums[c] += warp_exchange(sums[c], step);
  }
}

// Columns [c, c + 4) of a row of activations, zero beyond the last.
RZ_DEVICE void load_row4(const float* row, uint32_t c, uint32_t n_cols, float (&x)[4]) {
  if (n_cols % 4 == 0 && c < n_cols) {
    const Words4 words = load_words4(reinterpret_cast<const uint32_t*>(row + c));
    for (uint32_t i = 0; i < 4; ++i) x[i] = float_of_bits(words.word[i]);
    return;
  }
  for (uint32_t i = 0; i < 4; ++i) x[i] = c + i < n_cols ? row[c + i] : 0.0f;
}

// Plain types: a lane's part of the sums for some rows.
template <TypeId kType, int kRows>
RZ_DEVICE void dot_elements(PlainFormat<kType>, const Matrix& m, const uint64_t (&cols)[kDotCols], const float* in,
                            const uint64_t (&rows)[kRows], float (&sums)[kDotCols][kRows]) {
  using Format = PlainFormat<kType>;
  using Element = typename Format::Element;
  constexpr uint32_t kLaneCols = 4 * Element::kEach, kStep = 32 * kLaneCols;
  const uint32_t lane = thread_idx() % 32, stride = plain_stride(m.n_cols);
  const auto load = [&](uint32_t i, uint32_t c) {
    return load_words4(reinterpret_cast<const uint32_t*>(Format::row_of(m, cols[i]) + c));
  };
  Words4 next[kDotCols] = {};
  for (uint32_t i = 0; i < kDotCols; ++i) {
    if (lane * kLaneCols < stride) next[i] = load(i, lane * kLaneCols);
  }
  for (uint32_t c = lane * kLaneCols; c < stride; c += kStep) {
    Words4 words[kDotCols];
    float scales[kDotCols];
    for (uint32_t i = 0; i < kDotCols; ++i) {
      words[i] = next[i];
      scales[i] = Format::scale(m, cols[i], clamped(c, m.n_cols));
      if (c + kStep < stride) next[i] = load(i, c + kStep);
    }
    RZ_UNROLL for (uint32_t r = 0; r < kRows; ++r) {
      float own[kDotCols] = {};
      RZ_UNROLL for (uint32_t four = 0; four < Element::kEach; ++four) {
        float x[4];
        load_row4(in + rows[r] * m.n_cols, c + 4 * four, m.n_cols, x);
        for (uint32_t i = 0; i < kDotCols; ++i) {
          for (uint32_t k = 0; k < 4; ++k) {
            const uint32_t at = 4 * four + k;
            const float weight = Element::value(words[i].word[at / Element::kEach], at % Element::kEach);
            float& to = Element::kIsScaled ? own[i] : sums[i][r];
            to = fmaf(weight, x[k], to);
          }
        }
      }
      if constexpr (Element::kIsScaled) {
        for (uint32_t i = 0; i < kDotCols; ++i) sums[i][r] = fmaf(scales[i], own[i], sums[i][r]);
      }
    }
  }
}

// Stored types: a lane's part of the sums for some rows.
template <class Block, uint32_t kElems, int kRows>
RZ_DEVICE void dot_elements(StoredFormat<Block, kElems>, const Matrix& m, const uint64_t (&cols)[kDotCols],
                            const float* in, const uint64_t (&rows)[kRows], float (&sums)[kDotCols][kRows]) {
  static_assert(kElems % 4 == 0);
  for (uint32_t c = thread_idx() % 32 * 4; c < m.n_cols; c += 128) {
    float weights[kDotCols][4];
    for (uint32_t i = 0; i < kDotCols; ++i) {
      for (uint32_t k = 0; k < 4; ++k) weights[i][k] = StoredFormat<Block, kElems>::value(m, cols[i], c + k);
    }
    RZ_UNROLL for (uint32_t r = 0; r < kRows; ++r) {
      float x[4];
      load_row4(in + rows[r] * m.n_cols, c, m.n_cols, x);
      for (uint32_t i = 0; i < kDotCols; ++i) {
        for (uint32_t k = 0; k < 4; ++k) sums[i][r] = fmaf(weights[i][k], x[k], sums[i][r]);
      }
    }
  }
}

// Lane i gets the product of column `cols[i % kDotCols]` with row `rows[i / kDotCols]`; higher lanes are undefined.
template <class Format, int kRows>
RZ_DEVICE float dot(const Matrix& m, const uint64_t (&cols)[kDotCols], const float* in, const QuantRows& quants,
                    const uint64_t (&rows)[kRows]) {
  static_assert(!Format::kHasGroups || kRows == 1);
  float own = 0;
  if constexpr (!Format::kHasGroups) {
    float sums[kDotCols][kRows] = {};
    dot_elements(Format{}, m, cols, in, rows, sums);
    for (uint32_t i = 0; i < kDotCols * kRows; ++i) {
      const float sum = warp_sum(sums[i % kDotCols][i / kDotCols]);
      own = thread_idx() % 32 == i ? sum : own;
    }
  } else {
    float sums[kDotCols] = {};
    dot_groups<Format>(m, cols, quants, rows[0], sums);
    for (uint32_t i = 0; i < kDotCols; ++i) own = thread_idx() % 32 == i ? sums[i] : own;
  }
  return own;
}

constexpr uint32_t kDotBlockCols = kDotWarps * kDotCols;
static_assert(kMaxMatrixRows / kDotBlockCols + kMaxMoreParts <= kMaxGridY);

// The warp's first column in the block.
RZ_DEVICE uint32_t first_dot_col(uint32_t block) {
  return block * kDotBlockCols + thread_idx() / 32 * kDotCols;
}

// The index of a block's matrix in a launch, and of the block in this matrix, with kCols columns per block.
struct PartPlace {
  uint32_t part, block;
};
template <uint32_t kCols>
RZ_DEVICE PartPlace find_part(const LinearArgs& a) {
  PartPlace p{0, block_y()};
  uint32_t n_rows = a.weight.n_rows;
  RZ_UNROLL for (uint32_t i = 0; i < kMaxMoreParts; ++i) {
    const uint32_t n_blocks = (n_rows + kCols - 1) / kCols;
    if (i >= a.n_more || p.block < n_blocks) break;
    p.block -= n_blocks;
    p.part = i + 1;
    n_rows = a.more[i].weight.n_rows;
  }
  return p;
}

// Replaces the first part by this one: its weight, and the destination of its products.
RZ_DEVICE void select_weight(LinearArgs& a, uint32_t part) {
  RZ_UNROLL for (uint32_t i = 0; i < kMaxMoreParts; ++i) {
    if (part != i + 1) continue;
    a.weight.low = a.more[i].weight.low;
    a.weight.high = a.more[i].weight.high;
    a.weight.headers = a.more[i].weight.headers;
    a.weight.scales = a.more[i].weight.scales;
    a.weight.n_rows = a.more[i].weight.n_rows;
  }
}
RZ_DEVICE void select_out(LinearArgs& a, uint32_t part) {
  RZ_UNROLL for (uint32_t i = 0; i < kMaxMoreParts; ++i) {
    if (part != i + 1) continue;
    a.out = a.more[i].out;
    a.bias = a.more[i].bias;
  }
}

// Number of blocks for all matrices.
template <uint32_t kCols>
uint32_t n_part_blocks(const LinearArgs& a) {
  uint32_t n_blocks = (a.weight.n_rows + kCols - 1) / kCols;
  for (uint32_t i = 0; i < a.n_more; ++i) n_blocks += (a.more[i].weight.n_rows + kCols - 1) / kCols;
  return n_blocks;
}

RZ_DEVICE void store(Store how, Activation activation, float y, float* out) {
  *out = how == Store::kSet ? y : how == Store::kAdd ? *out + y : activated(activation, *out) * gated(activation, y);
}

RZ_DEVICE float finished(const Epilogue& end, float y) {
  if (end.activation == Activation::kXielu) y = xielu(end.xielu, y);
  y = activated(end.activation, y) * end.scale;
  return end.softcap > 0 ? end.softcap * tanhf(y / end.softcap) : y;
}

// Finishes the product of weight row `col` and row `row`. `bias`: of the weight.
RZ_DEVICE void finish_linear(const LinearArgs& a, const float* bias, uint32_t row, uint32_t col, float y) {
  if (bias != nullptr) y += bias[col];
  if (a.store != Store::kGate) y = finished(a.op.epilogue, y);
  const uint32_t width = a.out_width > 0 ? a.out_width : a.weight.n_rows;
  store(a.store, a.op.epilogue.activation, y, a.out + uint64_t{row} * width + col);
}

// Blocks with the same columns are adjacent, so that later ones find them in the cache.
inline Grid dot_grid(uint32_t n_cols, uint32_t n_rows) {
  return {n_rows, (n_cols + kDotBlockCols - 1) / kDotBlockCols};
}
