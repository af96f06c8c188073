// Products of a few rows with a matrix by dots.inl: one row with group types (more: linear_few.inl, with the same
// sums), up to 8 at once with F32 and stored types. F16, bf16 and F8: linear_few_split.inl.

template <class Format, int kRows>
RZ_KERNEL void linear_kernel(LinearArgs a) {
  const uint32_t first_row = *a.rows.first + block_x() * kRows, end_row = *a.rows.end;
  const PartPlace part = find_part<kDotBlockCols>(a);
  select_weight(a, part.part);
  const uint32_t first_col = first_dot_col(part.block);
  if (first_row >= end_row || first_col >= a.weight.n_rows) return;
  uint64_t cols[kDotCols], rows[kRows];
  for (uint32_t i = 0; i < kDotCols; ++i) cols[i] = clamped(first_col + i, a.weight.n_rows);
  for (uint32_t r = 0; r < kRows; ++r) rows[r] = clamped(first_row + r, end_row);
  const float y = dot<Format>(a.weight, cols, a.in, a.quants, rows);
  select_out(a, part.part);
  const uint32_t lane = thread_idx() % 32, row = first_row + lane / kDotCols, col = first_col + lane % kDotCols;
  if (lane < kDotCols * kRows && row < end_row && col < a.weight.n_rows) finish_linear(a, a.bias, row, col, y);
}

template <class Format, int kRows>
void launch_linear(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  const Grid grid{(max_rows + kRows - 1) / kRows, n_part_blocks<kDotBlockCols>(a)};
  launch(linear_kernel<Format, kRows>, grid, 32 * kDotWarps, a, stream);
}

void linear(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.weight.type, [&](auto format) {
    using Format = decltype(format);
    if constexpr (Format::kHasGroups) {
      launch_linear<Format, 1>(a, max_rows, stream);
    } else if constexpr (!Format::kHasSplits) {
      const auto launch_rows = max_rows == 1   ? launch_linear<Format, 1>
                               : max_rows <= 4 ? launch_linear<Format, 4>
                                               : launch_linear<Format, 8>;
      launch_rows(a, max_rows, stream);
    }
  });
}
