// A separate product for each head of a row, with a stack of matrices. A row and a head are a pair: pairs of a few rows
// are multiplied here, those of many by linear_many and linear_split, grouped by head as if heads were experts.

constexpr uint32_t kGroupHeadThreads = 256;

// One block per pair.
RZ_KERNEL void head_parts_kernel(HeadPartsArgs a) {
  const uint32_t row = block_x(), head = block_y();
  if (row >= *a.n_rows) return;
  const uint64_t pair = uint64_t{row} * a.op.n_heads + head;
  for (uint32_t c = thread_idx(); c < a.n_cols; c += n_block_threads()) {
    a.out[pair * a.n_cols + c] = a.in[pair * a.op.in_width + c];
  }
}

// Rows vary fastest, so that blocks with the same weights are adjacent.
template <class Format>
RZ_KERNEL void head_linear_kernel(HeadLinearArgs a) {
  const uint32_t n_blocks = (a.weight.n_rows + kDotBlockCols - 1) / kDotBlockCols;
  const uint32_t head = block_y() / n_blocks, first_col = first_dot_col(block_y() % n_blocks);
  const uint32_t row = *a.rows.first + block_x();
  if (row >= *a.rows.end || first_col >= a.weight.n_rows) return;
  uint64_t cols[kDotCols];
  for (uint32_t i = 0; i < kDotCols; ++i) {
    cols[i] = uint64_t{head} * a.weight.n_rows + clamped(first_col + i, a.weight.n_rows);
  }
  const uint64_t pair = uint64_t{row} * a.weight.n_mats + head;
  const float y = dot<Format>(a.weight, cols, a.in, a.quants, {pair});
  const uint32_t lane = thread_idx() % 32, col = first_col + lane;
  if (lane < kDotCols && col < a.weight.n_rows) a.out[pair * a.op.out_width + col] = y;
}

// One block per head. As with experts, each has at least one tile.
RZ_KERNEL void group_heads_kernel(GroupHeadsArgs a) {
  const uint32_t head = block_x(), first = *a.rows.first, n = *a.rows.end - first;
  const uint32_t start = head * n, end = start + n;
  for (uint32_t i = thread_idx(); i < n; i += kGroupHeadThreads)
    a.out.pairs[start + i] = (first + i) * a.op.n_heads + head;
  const uint32_t end_tile = end / kTileRows + head + 1;
  for (uint32_t tile = start / kTileRows + head + thread_idx(); tile < end_tile; tile += kGroupHeadThreads) {
    a.out.tile_experts[tile] = head;
  }
  if (thread_idx() > 0) return;
  a.out.starts[head] = start;
  if (head + 1 == a.op.n_heads) a.out.starts[a.op.n_heads] = end;
}

void head_parts(const HeadPartsArgs& a, uint32_t max_rows, Stream stream) {
  launch(head_parts_kernel, {max_rows, a.op.n_heads}, 64, a, stream);
}

void head_linear(const HeadLinearArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{max_rows, a.weight.n_mats * ((a.weight.n_rows + kDotBlockCols - 1) / kDotBlockCols)};
  with_format(a.weight.type,
              [&](auto format) { launch(head_linear_kernel<decltype(format)>, grid, 32 * kDotWarps, a, stream); });
}

void group_heads(const GroupHeadsArgs& a, Stream stream) {
  launch(group_heads_kernel, {a.op.n_heads, 1}, kGroupHeadThreads, a, stream);
}
