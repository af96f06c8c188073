// What adapters of low rank add to products. A plane's rows of F32 are whole groups long, with zeros at the end; which
// rows are beside a row changes nothing.

constexpr uint32_t kAdapterThreads = 256;

// The row's adapter and its rank; 0: it has none.
struct RowAdapter {
  uint32_t slot, rank;
  float factor;
};
RZ_DEVICE RowAdapter adapter_of(const StepView& step, Rows rows, const float* ranks, uint32_t row) {
  const uint32_t step_row = rows == Rows::kLogits ? step.logit_rows[row] : row;
  const BatchAdapter adapter = step.seqs[step.seq_of_row[step_row]].adapter;
  const bool is_there = adapter.slot != BatchAdapter::kNone;
  return {adapter.slot, is_there ? static_cast<uint32_t>(ranks[adapter.slot]) : 0, adapter.factor};
}
RZ_DEVICE uint32_t n_rows_of(const StepView& step, Rows rows) {
  return rows == Rows::kLogits ? *step.n_logit_rows : *step.n_rows;
}
RZ_DEVICE const float* adapter_row(const Matrix& stack, uint32_t slot, uint32_t row) {
  const uint32_t stride = (stack.n_cols + kGroupCols - 1) / kGroupCols * kGroupCols;
  return reinterpret_cast<const float*>(stack.low) + (uint64_t{slot} * stack.n_rows + row) * stride;
}

// A block a piece of a row, a warp a row of the matrix at a time. A lane sums every 32nd column.
RZ_KERNEL void adapter_down_kernel(AdapterDownArgs a) {
  const uint32_t row = block_x(), piece = block_y(), lane = thread_idx() % 32;
  if (row >= n_rows_of(a.step, a.op.rows)) return;
  const RowAdapter adapter = adapter_of(a.step, a.op.rows, a.ranks, row);
  const uint32_t first = piece * kAdapterPiece;
  const uint32_t n = a.down.n_cols - first < kAdapterPiece ? a.down.n_cols - first : kAdapterPiece;
  const float* in = a.in + uint64_t{row} * a.down.n_cols + first;
  for (uint32_t i = thread_idx() / 32; i < adapter.rank; i += kAdapterThreads / 32) {
    const float* weights = adapter_row(a.down, adapter.slot, i) + first;
    float sum = 0;
    for (uint32_t c = lane; c < n; c += 32) sum = fmaf(weights[c], in[c], sum);
    sum = warp_sum(sum);
    if (lane == 0) {
      a.low[uint64_t{row} * a.n_low_cols + piece * a.down.n_rows + i] = a.op.factor * adapter.factor * sum;
    }
  }
}

// A thread an output of a row.
RZ_KERNEL void adapter_up_kernel(AdapterUpArgs a) {
  RZ_SHARED(float, low, kMaxAdapterRank);
  const uint32_t row = block_x(), col = block_y() * kAdapterThreads + thread_idx();
  if (row >= n_rows_of(a.step, a.op.rows)) return;
  const RowAdapter adapter = adapter_of(a.step, a.op.rows, a.ranks, row);
  const uint32_t n_low = (adapter.rank + 3) / 4 * 4;  // zeros beyond the rank, as in the matrix
  for (uint32_t k = thread_idx(); k < n_low; k += kAdapterThreads) {
    const float* pieces = a.low + uint64_t{row} * a.n_low_cols + k;
    float sum = 0;
    for (uint32_t p = 0; k < adapter.rank && p < a.op.n_pieces; ++p) sum += pieces[p * a.up.n_cols];
    low[k] = sum;
  }
  barrier();
  if (col >= a.up.n_rows || (adapter.rank == 0 && !a.op.changes_all())) return;
  float& out = a.out[uint64_t{row} * a.up.n_rows + col];
  float y = out;
  if (adapter.rank > 0) {
    const float* weights = adapter_row(a.up, adapter.slot, col);
    float sum = 0;
    for (uint32_t k = 0; k < n_low; k += 4) {
      const Words4 four = load_words4(reinterpret_cast<const uint32_t*>(weights + k));
      for (uint32_t i = 0; i < 4; ++i) sum = fmaf(float_of_bits(four.word[i]), low[k + i], sum);
    }
    y += sum;
  }
  if (a.op.activation == Activation::kXielu) y = xielu(a.op.xielu, y);
  y = activated(a.op.activation, y) * a.op.scale;
  if (a.op.softcap > 0) y = a.op.softcap * tanhf(y / a.op.softcap);
  out = y;
}

void adapter_down(const AdapterDownArgs& a, uint32_t max_rows, Stream stream) {
  launch(adapter_down_kernel, {max_rows, n_adapter_pieces(a.down.n_cols)}, kAdapterThreads, a, stream);
}

void adapter_up(const AdapterUpArgs& a, uint32_t max_rows, Stream stream) {
  launch(adapter_up_kernel, {max_rows, (a.up.n_rows + kAdapterThreads - 1) / kAdapterThreads}, kAdapterThreads, a,
         stream);
}
