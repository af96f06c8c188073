// The operations of recurrent layers. A sequence's rows are processed in order, by independent columns or heads, and a
// row's sums depend only on the layer's shape, so the bits of a state depend only on the previous rows, not on steps. A
// thread reads and writes the same elements of a state, so a state can be updated in place.

constexpr uint32_t kConvRows = 64;  // rows of a sequence per block
constexpr uint32_t kConvThreads = 128;
constexpr uint32_t kScanThreads = 128;
constexpr uint32_t kShareThreads = 128;
static_assert(kMaxConvTaps <= kConvRows);

RZ_DEVICE float* state_of(const StateView& view, uint32_t slot) {
  return reinterpret_cast<float*>(view.part + uint64_t{slot} * view.slot_bytes);
}

RZ_DEVICE float softplus(float x) {
  return log1pf(expf(-fabsf(x))) + fmaxf(x, 0.0f);
}

// One thread per column. Only a sequence's first block reads the rows before it, and writes those for the next step.
RZ_KERNEL void short_conv_kernel(ShortConvArgs a) {
  const uint32_t seq_idx = block_x() / a.n_parts, first = block_x() % a.n_parts * kConvRows;
  const uint32_t col = block_y() * kConvThreads + thread_idx();
  if (seq_idx >= *a.step.n_seqs || col >= a.n_cols) return;
  const StepSequence seq = a.step.seqs[seq_idx];
  if (first >= seq.n_rows) return;
  const uint32_t end = first + kConvRows < seq.n_rows ? first + kConvRows : seq.n_rows, n_before = a.op.n_taps - 1;
  const float* before = seq.state_from == kNoState ? nullptr : state_of(a.state, seq.state_from);
  // Row 0 is n_before rows before the sequence's first.
  const auto value = [&](uint32_t row) {
    if (row >= n_before) return a.in[uint64_t{seq.first_row + row - n_before} * a.n_cols + col];
    return before == nullptr ? 0.0f : before[uint64_t{row} * a.n_cols + col];
  };
  for (uint32_t r = first; r < end; ++r) {
    float y = a.bias == nullptr ? 0.0f : a.bias[col];
    for (uint32_t i = 0; i < a.op.n_taps; ++i) y = fmaf(a.weight[uint64_t{col} * a.op.n_taps + i], value(r + i), y);
    a.out[uint64_t{seq.first_row + r} * a.n_cols + col] = activated(a.op.activation, y);
  }
  if (first > 0 || !a.op.keeps_rows) return;
  float* after = state_of(a.state, seq.state_to);
  for (uint32_t row = 0; row < n_before; ++row) after[uint64_t{row} * a.n_cols + col] = value(seq.n_rows + row);
}

// Over kLanes adjacent lanes, neighbours first.
template <uint32_t kLanes>
RZ_DEVICE float lanes_sum(float x) {
  for (uint32_t step = 1; step < kLanes; step *= 2) x += warp_exchange(x, step);
  return x;
}

// Some dimensions of a head, and for each the lane's elements of the state: kEach of them, kLanes apart. Lanes beyond
// the last head compute along and store nothing.
template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
struct HeadLines {
  bool is_here;
  uint32_t head, first, n_lines, n_each;  // n_each: elements per dimension

  RZ_DEVICE HeadLines(uint32_t n_heads, uint32_t n_head_lines, uint32_t n_numbers)
      : n_lines(n_head_lines), n_each(n_numbers) {
    const uint32_t n_parts = (n_lines + kLines - 1) / kLines;
    const uint32_t part = block_y() * (kScanThreads / kLanes) + thread_idx() / kLanes;
    is_here = part < n_heads * n_parts;
    head = is_here ? part / n_parts : n_heads - 1;
    first = is_here ? part % n_parts * kLines : 0;
  }
  RZ_DEVICE bool has(uint32_t line) const { return is_here && first + line < n_lines; }
  RZ_DEVICE uint32_t dim(uint32_t line) const { return head * n_lines + first + line; }  // in all heads
  // Calls visit(line, e, index in the state) for those that exist.
  template <class Visit>
  RZ_DEVICE void for_each(const Visit& visit) const {
    RZ_UNROLL for (uint32_t line = 0; line < kLines; ++line) {
      RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
        const uint32_t n = thread_idx() % kLanes + kLanes * e;
        if (has(line) && n < n_each) visit(line, e, uint64_t{dim(line)} * n_each + n);
      }
    }
  }
};

// A lane's inputs from a row for one head: decays of its elements of the state, b and c.
template <uint32_t kEach>
struct ScanRow {
  float t;
  float decay[kEach], b[kEach], c[kEach];
};

template <uint32_t kLanes, uint32_t kEach>
RZ_DEVICE ScanRow<kEach> load_scan_row(const StateScanArgs& a, uint32_t row, uint32_t head) {
  const uint32_t lane = thread_idx() % kLanes, group = head / (a.op.n_heads / a.op.n_groups);
  const float dt = a.dt[uint64_t{row} * a.op.n_heads + head] + a.dt_bias[head];
  ScanRow<kEach> facts;
  facts.t = softplus(dt);
  const float* own = a.a + uint64_t{head} * a.op.a_cols;
  const float* b = a.b.row(row) + group * a.op.d_state;
  const float* c = a.c.row(row) + group * a.op.d_state;
  const float shared = expf(facts.t * own[0]);
  RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
    const uint32_t n = lane + kLanes * e;
    const bool is_here = n < a.op.d_state;
    facts.decay[e] = a.op.a_cols == 1 || !is_here ? shared : expf(facts.t * own[n]);
    facts.b[e] = is_here ? b[n] : 0.0f;
    facts.c[e] = is_here ? c[n] : 0.0f;
  }
  return facts;
}

template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
RZ_KERNEL void state_scan_kernel(StateScanArgs a) {
  if (block_x() >= *a.step.n_seqs) return;
  const StepSequence seq = a.step.seqs[block_x()];
  const HeadLines<kLanes, kEach, kLines> lines(a.op.n_heads, a.op.head_dim, a.op.d_state);
  float state[kLines][kEach] = {};
  if (seq.state_from != kNoState) {
    const float* before = state_of(a.state, seq.state_from);
    lines.for_each([&](uint32_t line, uint32_t e, uint64_t at) { state[line][e] = before[at]; });
  }
  for (uint32_t row = seq.first_row; row < seq.first_row + seq.n_rows; ++row) {
    const ScanRow<kEach> facts = load_scan_row<kLanes, kEach>(a, row, lines.head);
    RZ_UNROLL for (uint32_t line = 0; line < kLines; ++line) {
      const float x = lines.has(line) ? a.x.row(row)[lines.dim(line)] : 0.0f;
      float y = 0;
      RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
        state[line][e] = fmaf(facts.t * x, facts.b[e], state[line][e] * facts.decay[e]);
        y = fmaf(state[line][e], facts.c[e], y);
      }
      y = lanes_sum<kLanes>(y);
      if (!lines.has(line) || thread_idx() % kLanes > 0) continue;
      const uint64_t at = uint64_t{row} * a.op.n_heads * a.op.head_dim + lines.dim(line);
      y = fmaf(a.d[lines.head], x, y);
      a.out[at] = a.gate == nullptr ? y : y * activated(Activation::kSilu, a.gate[at]);
    }
  }
  float* after = state_of(a.state, seq.state_to);
  lines.for_each([&](uint32_t line, uint32_t e, uint64_t at) { after[at] = state[line][e]; });
}

// One block per row: computes its decay and its sigmoid of beta, in place.
RZ_KERNEL void delta_shares_kernel(DeltaRuleArgs a) {
  const uint32_t row = block_x();
  if (row >= *a.step.n_rows) return;
  const uint32_t n = a.op.n_heads * a.op.decay_cols;
  float* decay = a.decay + uint64_t{row} * n;
  for (uint32_t i = thread_idx(); i < n; i += kShareThreads) {
    decay[i] = expf(a.a[i / a.op.decay_cols] * softplus(decay[i] + a.decay_bias[i]));
  }
  float* beta = a.beta + uint64_t{row} * a.op.n_heads;
  for (uint32_t h = thread_idx(); h < a.op.n_heads; h += kShareThreads) beta[h] = 1.0f / (1.0f + expf(-beta[h]));
}

// A lane's inputs from a row for one head and some of its values.
template <uint32_t kEach, uint32_t kLines>
struct DeltaRow {
  float share;
  float key_query;  // k . q
  float decay[kEach], k[kEach], q[kEach], v[kLines];
};

template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
RZ_DEVICE DeltaRow<kEach, kLines> load_delta_row(const DeltaRuleArgs& a, uint32_t row,
                                                 const HeadLines<kLanes, kEach, kLines>& lines) {
  const uint32_t head = lines.head, each_of_key = a.op.n_heads / a.op.n_key_heads;
  const uint32_t key_head = a.op.key_heads_in_turn ? head % a.op.n_key_heads : head / each_of_key;
  const float* k = a.k.row(row) + key_head * a.op.key_dim;
  const float* q = a.q.row(row) + key_head * a.op.key_dim;
  const float* decay = a.decay + (uint64_t{row} * a.op.n_heads + head) * a.op.decay_cols;
  const float shared = decay[0];
  DeltaRow<kEach, kLines> facts;
  facts.share = a.beta[uint64_t{row} * a.op.n_heads + head];
  facts.key_query = 0;
  RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
    const uint32_t n = thread_idx() % kLanes + kLanes * e;
    const bool is_here = n < a.op.key_dim;
    facts.k[e] = is_here ? k[n] : 0.0f;
    facts.q[e] = is_here ? q[n] : 0.0f;
    facts.decay[e] = a.op.decay_cols == 1 || !is_here ? shared : decay[n];
    facts.key_query = fmaf(facts.k[e], facts.q[e], facts.key_query);
  }
  facts.key_query = lanes_sum<kLanes>(facts.key_query);
  RZ_UNROLL for (uint32_t line = 0; line < kLines; ++line) {
    facts.v[line] = lines.has(line) ? a.v.row(row)[lines.dim(line)] : 0.0f;
  }
  return facts;
}

// Lanes share the keys of a value. A row's output is the decayed state's output for the query plus k . q times the
// learned value, so both sums over the state are taken in one pass, while the next row's inputs are loading.
template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
RZ_KERNEL void delta_rule_kernel(DeltaRuleArgs a) {
  if (block_x() >= *a.step.n_seqs) return;
  const StepSequence seq = a.step.seqs[block_x()];
  const HeadLines<kLanes, kEach, kLines> lines(a.op.n_heads, a.op.value_dim, a.op.key_dim);
  float state[kLines][kEach] = {};
  if (seq.state_from != kNoState) {
    const float* before = state_of(a.state, seq.state_from);
    lines.for_each([&](uint32_t line, uint32_t e, uint64_t at) { state[line][e] = before[at]; });
  }
  const uint32_t last = seq.first_row + seq.n_rows - 1;
  DeltaRow<kEach, kLines> next = load_delta_row(a, seq.first_row, lines);
  for (uint32_t row = seq.first_row; row <= last; ++row) {
    const DeltaRow<kEach, kLines> facts = next;
    if (row < last) next = load_delta_row(a, row + 1, lines);
    RZ_UNROLL for (uint32_t line = 0; line < kLines; ++line) {
      float learnt = 0, y = 0;
      RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
        state[line][e] *= facts.decay[e];
        learnt = fmaf(state[line][e], facts.k[e], learnt);
        y = fmaf(state[line][e], facts.q[e], y);
      }
      learnt = lanes_sum<kLanes>(learnt);
      y = lanes_sum<kLanes>(y);
      const float change = facts.share * (facts.v[line] - learnt);
      RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) state[line][e] = fmaf(facts.k[e], change, state[line][e]);
      if (!lines.has(line) || thread_idx() % kLanes > 0) continue;
      a.out[uint64_t{row} * a.op.n_heads * a.op.value_dim + lines.dim(line)] = fmaf(facts.key_query, change, y);
    }
  }
  float* after = state_of(a.state, seq.state_to);
  lines.for_each([&](uint32_t line, uint32_t e, uint64_t at) { after[at] = state[line][e]; });
}

// One block per row, one warp for some of its heads: computes the row's inputs to the state, in place, and its bonus.
RZ_KERNEL void wkv_inputs_kernel(WkvArgs a) {
  const uint32_t row = block_x();
  if (row >= *a.step.n_rows) return;
  constexpr uint32_t kLanes = 32;
  const uint32_t lane = thread_idx() % kLanes;
  for (uint32_t head = thread_idx() / kLanes; head < a.op.n_heads; head += kShareThreads / kLanes) {
    const uint32_t first = head * a.op.head_dim;
    const uint64_t at = uint64_t{row} * a.op.n_heads * a.op.head_dim + first;
    float power = 0, factor = 0;
    for (uint32_t j = lane; j < a.op.head_dim; j += kLanes) {
      const float removal = a.k[at + j] * a.removal_scale[first + j];
      power = fmaf(removal, removal, power);
      a.removal[at + j] = removal;
    }
    const float scale = 1.0f / fmaxf(sqrtf(lanes_sum<kLanes>(power)), kWkvLeastLength);
    for (uint32_t j = lane; j < a.op.head_dim; j += kLanes) {
      const float share = activated(Activation::kSigmoid, a.rate[at + j]), removal = a.removal[at + j] * scale;
      const float k = a.k[at + j] * (1.0f + (share - 1.0f) * a.rate_scale[first + j]);
      a.decay[at + j] = expf(-kWkvDecay * activated(Activation::kSigmoid, a.decay[at + j]));
      a.removal[at + j] = removal;
      a.rate[at + j] = share * removal;
      a.k[at + j] = k;
      factor = fmaf(a.r[at + j] * k, a.bonus_scale[first + j], factor);
    }
    factor = lanes_sum<kLanes>(factor);
    for (uint32_t i = lane; i < a.op.head_dim; i += kLanes) {
      float v = a.v[at + i];
      if (a.first_v != nullptr) {
        const float share = activated(Activation::kSigmoid, a.v_share[at + i]);
        a.v_share[at + i] = share;
        v += (a.first_v[at + i] - v) * share;
        a.v[at + i] = v;
      }
      a.bonus[at + i] = factor * v;
    }
  }
}

// A lane's inputs from a row for one head and some of its values.
template <uint32_t kEach, uint32_t kLines>
struct WkvRow {
  float key_r, rate_r;  // k . r and (c * z) . r
  float decay[kEach], k[kEach], r[kEach], removal[kEach], rate[kEach], v[kLines];
};

template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
RZ_DEVICE WkvRow<kEach, kLines> load_wkv_row(const WkvArgs& a, uint32_t row,
                                             const HeadLines<kLanes, kEach, kLines>& lines) {
  const uint64_t of_row = uint64_t{row} * a.op.n_heads * a.op.head_dim, at = of_row + lines.head * a.op.head_dim;
  WkvRow<kEach, kLines> facts;
  facts.key_r = facts.rate_r = 0;
  RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
    const uint32_t n = thread_idx() % kLanes + kLanes * e;
    const bool is_here = n < a.op.head_dim;
    facts.decay[e] = is_here ? a.decay[at + n] : 0.0f;
    facts.k[e] = is_here ? a.k[at + n] : 0.0f;
    facts.r[e] = is_here ? a.r[at + n] : 0.0f;
    facts.removal[e] = is_here ? a.removal[at + n] : 0.0f;
    facts.rate[e] = is_here ? a.rate[at + n] : 0.0f;
    facts.key_r = fmaf(facts.k[e], facts.r[e], facts.key_r);
    facts.rate_r = fmaf(facts.rate[e], facts.r[e], facts.rate_r);
  }
  facts.key_r = lanes_sum<kLanes>(facts.key_r);
  facts.rate_r = lanes_sum<kLanes>(facts.rate_r);
  RZ_UNROLL for (uint32_t line = 0; line < kLines; ++line) {
    facts.v[line] = lines.has(line) ? a.v[of_row + lines.dim(line)] : 0.0f;
  }
  return facts;
}

// Both sums over the state are of the state before the row, as in a delta rule, so that one pass takes them.
template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
RZ_KERNEL void wkv_kernel(WkvArgs a) {
  if (block_x() >= *a.step.n_seqs) return;
  const StepSequence seq = a.step.seqs[block_x()];
  const HeadLines<kLanes, kEach, kLines> lines(a.op.n_heads, a.op.head_dim, a.op.head_dim);
  float state[kLines][kEach] = {};
  if (seq.state_from != kNoState) {
    const float* before = state_of(a.state, seq.state_from);
    lines.for_each([&](uint32_t line, uint32_t e, uint64_t at) { state[line][e] = before[at]; });
  }
  const uint32_t last = seq.first_row + seq.n_rows - 1;
  WkvRow<kEach, kLines> next = load_wkv_row(a, seq.first_row, lines);
  for (uint32_t row = seq.first_row; row <= last; ++row) {
    const WkvRow<kEach, kLines> facts = next;
    if (row < last) next = load_wkv_row(a, row + 1, lines);
    RZ_UNROLL for (uint32_t line = 0; line < kLines; ++line) {
      float removed = 0, y = 0;
      RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
        removed = fmaf(state[line][e], facts.removal[e], removed);
        state[line][e] *= facts.decay[e];
        y = fmaf(state[line][e], facts.r[e], y);
      }
      removed = lanes_sum<kLanes>(removed);
      y = lanes_sum<kLanes>(y);
      RZ_UNROLL for (uint32_t e = 0; e < kEach; ++e) {
        state[line][e] = fmaf(facts.k[e], facts.v[line], fmaf(-removed, facts.rate[e], state[line][e]));
      }
      if (!lines.has(line) || thread_idx() % kLanes > 0) continue;
      a.out[uint64_t{row} * a.op.n_heads * a.op.head_dim + lines.dim(line)] =
          fmaf(facts.key_r, facts.v[line], fmaf(-removed, facts.rate_r, y));
    }
  }
  float* after = state_of(a.state, seq.state_to);
  lines.for_each([&](uint32_t line, uint32_t e, uint64_t at) { after[at] = state[line][e]; });
}

void short_conv(const ShortConvArgs& a, uint32_t max_seqs, uint32_t max_rows, Stream stream) {
  ShortConvArgs args = a;
  args.n_parts = (max_rows + kConvRows - 1) / kConvRows;
  launch(short_conv_kernel, {max_seqs * args.n_parts, (a.n_cols + kConvThreads - 1) / kConvThreads}, kConvThreads, args,
         stream);
}

// The grid of a scan whose blocks have kScanThreads / n_lanes parts of heads each, of n_lines dimensions.
Grid scan_grid(uint32_t max_seqs, uint32_t n_heads, uint32_t head_dim, uint32_t n_lanes, uint32_t n_lines) {
  const uint32_t n_of_block = kScanThreads / n_lanes, n_parts = n_heads * ((head_dim + n_lines - 1) / n_lines);
  return {max_seqs, (n_parts + n_of_block - 1) / n_of_block};
}

template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
void launch_scan(const StateScanArgs& a, uint32_t max_seqs, Stream stream) {
  launch(state_scan_kernel<kLanes, kEach, kLines>, scan_grid(max_seqs, a.op.n_heads, a.op.head_dim, kLanes, kLines),
         kScanThreads, a, stream);
}

// Small states, of Mamba, have one head per dimension; large ones, of Mamba 2, many dimensions per head.
void state_scan(const StateScanArgs& a, uint32_t max_seqs, Stream stream) {
  if (a.op.d_state <= 16) return launch_scan<4, 4, 1>(a, max_seqs, stream);
  if (a.op.d_state <= 128) return launch_scan<32, 4, 8>(a, max_seqs, stream);
  launch_scan<32, kMaxStateDim / 32, 8>(a, max_seqs, stream);
}

template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
void launch_delta(const DeltaRuleArgs& a, uint32_t max_seqs, Stream stream) {
  launch(delta_rule_kernel<kLanes, kEach, kLines>, scan_grid(max_seqs, a.op.n_heads, a.op.value_dim, kLanes, kLines),
         kScanThreads, a, stream);
}

// Few lanes per value, so that sums over lanes take few steps.
void delta_rule(const DeltaRuleArgs& a, uint32_t max_seqs, uint32_t max_rows, Stream stream) {
  static_assert(kMaxKeyDim == 16 * 16);
  launch(delta_shares_kernel, {max_rows, 1}, kShareThreads, a, stream);
  if (a.op.key_dim <= 64) return launch_delta<8, 8, 2>(a, max_seqs, stream);
  if (a.op.key_dim <= 128) return launch_delta<8, 16, 2>(a, max_seqs, stream);
  launch_delta<16, 16, 2>(a, max_seqs, stream);
}

template <uint32_t kLanes, uint32_t kEach, uint32_t kLines>
void launch_wkv(const WkvArgs& a, uint32_t max_seqs, Stream stream) {
  launch(wkv_kernel<kLanes, kEach, kLines>, scan_grid(max_seqs, a.op.n_heads, a.op.head_dim, kLanes, kLines),
         kScanThreads, a, stream);
}

void wkv(const WkvArgs& a, uint32_t max_seqs, uint32_t max_rows, Stream stream) {
  launch(wkv_inputs_kernel, {max_rows, 1}, kShareThreads, a, stream);
  if (a.op.head_dim <= 64) return launch_wkv<8, 8, 2>(a, max_seqs, stream);
  if (a.op.head_dim <= 128) return launch_wkv<8, 16, 2>(a, max_seqs, stream);
  launch_wkv<16, 16, 2>(a, max_seqs, stream);
}
