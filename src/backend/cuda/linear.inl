// Products of a few rows with a matrix, by dots.inl.

template <class Format>
RZ_KERNEL void linear_kernel(LinearArgs a) {
  const uint32_t first_row = *a.rows.first, end_row = *a.rows.end;
  const DotPlace p = dot_place(first_row, end_row);
  if (p.col >= a.weight.n_rows || first_row + block_y() * kDotRows >= end_row) return;
  const float y = dot_rows<Format>(a.weight, p.col, a.in, a.quants, p.rows, p.lane);
  if (p.lane < kDotRows && p.row < end_row) finish_linear(a, p.row, p.col, y);
}

void linear(const LinearArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.weight.form, [&](auto format) {
    launch(linear_kernel<decltype(format)>, dot_grid(a.weight.n_rows, max_rows, kDotRows), 32 * kDotWarps, a, stream);
  });
}
