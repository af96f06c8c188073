// Operations on rows: embed, norm, quantize, cut, AltUp, select, sum.

constexpr uint32_t kRowThreads = 128;
constexpr uint32_t kNormColumns = 4;  // per thread of a norm, if the block is large enough
constexpr uint32_t kMaxNormThreads = 1024;

// The rows of one table, by token, by its type or by position.
template <class Format>
RZ_KERNEL void embed_kernel(EmbedArgs a) {
  const uint32_t row = block_x(), c = block_y() * kRowThreads + thread_idx();
  if (row >= *a.n_rows || c >= a.table.n_cols) return;
  auto id = static_cast<uint32_t>(a.ids[row]);
  if (a.n_ids > 0) id = a.is_quotient ? id / a.n_ids : id % a.n_ids;
  const float x = Format::value(a.table, id, c) * a.scale;
  float* out = a.out + uint64_t{row} * a.table.n_cols + c;
  *out = a.accumulate ? *out + x : x;
}

// The sum of x over the block's threads, returned to all. `warps`: shared, one per warp.
RZ_DEVICE float block_sum(float x, float* warps) {
  const float own = warp_sum(x);
  barrier();  // the last sum has been read
  if (thread_idx() % 32 == 0) warps[thread_idx() / 32] = own;
  barrier();
  float sum = warps[0];
  for (uint32_t w = 1; w < n_block_threads() / 32; ++w) sum += warps[w];
  return sum;
}

// A warp quantizes group number `at`, one column per lane.
RZ_DEVICE void quantize_group(float x, uint64_t at, const QuantRows& out) {
  const uint32_t lane = thread_idx() % 32;
  const float largest = warp_max(fabsf(x));
  // For smaller values the inverse would not be finite; such rows count as zero.
  const bool is_zero = !(largest > 0x1p-120f);
  const float scale = is_zero ? 0.0f : largest / 127.0f;
  const int32_t code = is_zero ? 0 : round_to_int(x * (127.0f / largest));
  // Sums of these few small integers are exact in F32.
  const auto first = static_cast<int32_t>(warp_sum(lane < 16 ? static_cast<float>(code) : 0.0f));
  const auto all = static_cast<int32_t>(warp_sum(static_cast<float>(code)));
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    word |= (warp_broadcast(static_cast<uint32_t>(code), (4 * lane + i) % 32) & 255) << (8 * i);
  }
  if (lane < 8) out.codes[8 * at + lane] = word;
  if (lane == 0) {
    out.scales[at] = scale;
    out.halves[at] =
        static_cast<int32_t>((static_cast<uint32_t>(all - first) << 16) | (static_cast<uint32_t>(first) & 0xffffu));
  }
}

// One block per norm group of a row. The order of its sums depends only on the number of columns.
RZ_KERNEL void norm_kernel(NormArgs a) {
  RZ_SHARED(float, warps, kMaxNormThreads / 32);
  const uint32_t row = block_x(), first = block_y() * a.n_cols;
  if (row >= *a.n_rows) return;
  const uint64_t at = uint64_t{row} * a.op.n_groups * a.n_cols + first;
  const float* in = a.in + at;
  float* out = a.out + at;
  const auto n = static_cast<float>(a.n_cols);
  float mean = 0;
  if (a.op.kind == NormKind::kLayer) {
    float sum = 0;
    for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) sum += in[c];
    mean = block_sum(sum, warps) / n;
  }
  float magnitude = 1.0f;
  if (a.like != nullptr) {
    const float* like = a.like + uint64_t{row} * a.n_like_cols;
    float sum = 0;
    for (uint32_t c = thread_idx(); c < a.n_like_cols; c += n_block_threads()) sum = fmaf(like[c], like[c], sum);
    magnitude = sqrtf(block_sum(sum, warps) / static_cast<float>(a.n_like_cols));
  }
  float power = 0;
  for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) power = fmaf(in[c] - mean, in[c] - mean, power);
  const float scale = magnitude / sqrtf(block_sum(power, warps) / n + a.op.eps);
  for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) {
    float y = (in[c] - mean) * scale;
    if (a.weight != nullptr) y *= a.weight[first + c];
    if (a.bias != nullptr) y += a.bias[first + c];
    if (a.op.accumulate) y += out[c];
    y *= a.op.scale;
    out[c] = y;
    // A warp's columns are a group.
    if (a.quants.codes != nullptr) quantize_group(y, (uint64_t{row} * a.n_cols + c) / kGroupCols, a.quants);
  }
}

// One warp per group of 32 columns.
RZ_KERNEL void quantize_kernel(QuantizeArgs a) {
  const uint32_t row = block_x(), n_groups = a.n_cols / kGroupCols;
  const uint32_t g = block_y() * (kRowThreads / 32) + thread_idx() / 32;
  if (row >= *a.n_rows * a.rows_each || g >= n_groups) return;
  const uint64_t at = uint64_t{row} * a.n_cols + g * kGroupCols + thread_idx() % 32;
  const float x = a.gate == nullptr ? a.in[at] : activated(a.activation, a.gate[at]) * a.in[at];
  quantize_group(x, uint64_t{row} * n_groups + g, a.out);
}

RZ_KERNEL void gate_kernel(GateArgs a) {
  const uint32_t row = block_x(), c = block_y() * kRowThreads + thread_idx();
  if (row >= *a.n_rows || c >= a.n_cols) return;
  const float gate = a.gate[uint64_t{row} * a.n_gate_cols + (a.n_gate_cols == 1 ? 0 : a.op.gate_col + c)];
  const uint64_t at = uint64_t{row} * a.n_cols + c;
  const float y = a.op.is_factor ? a.in[at] * gate : a.in[at] / (1.0f + expf(-gate));
  a.out[at] = a.op.accumulate ? a.out[at] + y : y;
}

// One block per row. The order of its sums depends only on the number of columns.
RZ_KERNEL void cut_kernel(CutArgs a) {
  RZ_SHARED(float, warps, kMaxNormThreads / 32);
  const uint32_t row = block_x();
  if (row >= *a.n_rows) return;
  const float* in = a.in + uint64_t{row} * a.n_cols;
  float* out = a.out + uint64_t{row} * a.n_cols;
  const auto n = static_cast<float>(a.n_cols);
  float sum = 0;
  for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) sum += in[c];
  const float mean = block_sum(sum, warps) / n;
  float power = 0;
  for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) power = fmaf(in[c] - mean, in[c] - mean, power);
  const float least = mean + a.op.n_stds * sqrtf(block_sum(power, warps) / n);
  for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) {
    out[c] = activated(a.op.activation, fmaxf(0.0f, in[c] - least));
  }
}

// One thread per column of a row. Loops over streams always run to the maximum, so that arrays stay in registers.
RZ_KERNEL void altup_kernel(AltUpArgs a) {
  const uint32_t row = block_x(), c = block_y() * kRowThreads + thread_idx(), n = a.op.n_streams;
  if (row >= *a.n_rows || c >= a.n_cols) return;
  const uint64_t at = uint64_t{row} * a.n_cols + c;
  const float* router = a.router + uint64_t{row} * n;
  const auto coefficient = [&](uint32_t i) {
    float sum = 0;
    for (uint32_t j = 0; j < n; ++j) sum = fmaf(a.coefs[i * n + j], router[j], sum);
    return sum;
  };
  if (a.op.corrects) {
    const float unpredicted = a.x[at] - a.streams[0][at];
    RZ_UNROLL
    for (uint32_t i = 0; i < kMaxStreams; ++i) {
      if (i < n) a.streams[i][at] = fmaf(1.0f + coefficient(i), unpredicted, a.streams[i][at]);
    }
    a.x[at] = a.scale == nullptr ? a.streams[0][at] : a.streams[0][at] * a.scale[c];
    return;
  }
  float before[kMaxStreams];
  RZ_UNROLL
  for (uint32_t j = 0; j < kMaxStreams; ++j) before[j] = j < n ? a.streams[j][at] : 0.0f;
  RZ_UNROLL
  for (uint32_t i = 0; i < kMaxStreams; ++i) {
    float sum = before[i];
    RZ_UNROLL
    for (uint32_t j = 0; j < kMaxStreams; ++j) {
      if (i < n && j < n) sum = fmaf(coefficient(i * n + j), before[j], sum);
    }
    if (i < n) a.streams[i][at] = sum;
  }
  a.x[at] = a.streams[0][at];
}

RZ_KERNEL void select_rows_kernel(SelectRowsArgs a) {
  const uint32_t row = block_x();
  if (row >= *a.step.n_logit_rows) return;
  const float* in = a.in + uint64_t{a.step.logit_rows[row]} * a.n_cols;
  for (uint32_t c = thread_idx(); c < a.n_cols; c += kRowThreads) a.out[uint64_t{row} * a.n_cols + c] = in[c];
}

RZ_KERNEL void sum_parts_kernel(SumPartsArgs a) {
  const uint32_t row = block_x(), c = block_y() * kRowThreads + thread_idx();
  if (row >= *a.n_rows || c >= a.n_cols) return;
  const uint64_t at = uint64_t{row} * a.n_cols + c, part_size = uint64_t{*a.n_rows} * a.n_cols;
  float y = a.parts[at];
  for (uint32_t i = 1; i < a.op.n_parts; ++i) y += a.parts[i * part_size + at];
  if (a.bias != nullptr) y += a.bias[c];
  y *= a.op.scale;
  a.out[at] = a.op.accumulate ? a.out[at] + y : y;
}

void embed(const EmbedArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{max_rows, (a.table.n_cols + kRowThreads - 1) / kRowThreads};
  with_format(a.table.type, [&](auto format) { launch(embed_kernel<decltype(format)>, grid, kRowThreads, a, stream); });
}

uint32_t norm_threads(uint32_t n_cols) {
  const uint32_t n_wanted = (n_cols / kNormColumns + 31) / 32 * 32;
  return n_wanted < 32 ? 32 : n_wanted < kMaxNormThreads ? n_wanted : kMaxNormThreads;
}

void norm(const NormArgs& a, uint32_t max_rows, Stream stream) {
  launch(norm_kernel, {max_rows, a.op.n_groups}, norm_threads(a.n_cols), a, stream);
}

void cut(const CutArgs& a, uint32_t max_rows, Stream stream) {
  launch(cut_kernel, {max_rows, 1}, norm_threads(a.n_cols), a, stream);
}

void altup(const AltUpArgs& a, uint32_t max_rows, Stream stream) {
  launch(altup_kernel, {max_rows, (a.n_cols + kRowThreads - 1) / kRowThreads}, kRowThreads, a, stream);
}

void quantize(const QuantizeArgs& a, uint32_t max_rows, Stream stream) {
  constexpr uint32_t kGroups = kRowThreads / 32;
  const uint32_t n_groups = a.n_cols / kGroupCols;
  launch(quantize_kernel, {max_rows * a.rows_each, (n_groups + kGroups - 1) / kGroups}, kRowThreads, a, stream);
}

void sum_parts(const SumPartsArgs& a, uint32_t max_rows, Stream stream) {
  launch(sum_parts_kernel, {max_rows, (a.n_cols + kRowThreads - 1) / kRowThreads}, kRowThreads, a, stream);
}

void gate(const GateArgs& a, uint32_t max_rows, Stream stream) {
  launch(gate_kernel, {max_rows, (a.n_cols + kRowThreads - 1) / kRowThreads}, kRowThreads, a, stream);
}

void select_rows(const SelectRowsArgs& a, uint32_t max_rows, Stream stream) {
  launch(select_rows_kernel, {max_rows, 1}, kRowThreads, a, stream);
}
