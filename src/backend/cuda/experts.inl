// Mixture of experts: the router, and the products with chosen experts, a row and an expert a warp.

RZ_KERNEL void route_kernel(RouteArgs a) {
  RZ_SHARED(float, p, kMaxExperts);
  const uint32_t row = block_x(), lane = thread_idx();
  if (row >= *a.n_rows) return;
  const float* logits = a.logits + uint64_t{row} * a.n_experts;
  float max = -INFINITY;
  for (uint32_t e = lane; e < a.n_experts; e += 32) max = fmaxf(max, logits[e]);
  max = warp_max(max);
  float sum = 0;
  for (uint32_t e = lane; e < a.n_experts; e += 32) sum += p[e] = expf(logits[e] - max);
  sum = warp_sum(sum);
  barrier();  // what other lanes wrote to p
  // Experts are taken by their logits, since different ones may have equal exponentials.
  float chosen_sum = 0, own_p = 0;
  uint32_t own_id = 0;
  float last = INFINITY;
  uint32_t last_id = 0;
  for (uint32_t k = 0; k < a.n_used; ++k) {
    float best = -INFINITY;
    uint32_t best_id = a.n_experts;
    for (uint32_t e = lane; e < a.n_experts; e += 32) {
      const bool is_after = logits[e] < last || (logits[e] == last && (k == 0 || e > last_id));
      if (is_after && (best_id == a.n_experts || logits[e] > best)) {
        best = logits[e];
        best_id = e;
      }
    }
    warp_argmax(&best, &best_id);
    last = best;
    last_id = best_id;
    best_id = best_id < a.n_experts ? best_id : 0;  // logits that are not numbers have no best
    chosen_sum += p[best_id];
    own_p = lane == k ? p[best_id] : own_p;
    own_id = lane == k ? best_id : own_id;
  }
  if (lane >= a.n_used) return;
  const uint64_t at = uint64_t{row} * a.n_used + lane;
  a.ids[at] = static_cast<float>(own_id);
  a.weights[at] = own_p / (a.renormalize ? chosen_sum : sum) * a.scale;
}

// Lane i gets what column first_col + i of an expert gives with the row.
template <class Format>
RZ_DEVICE float dot_expert(const Matrix& m, float id, uint32_t first_col, const float* in, const QuantRows& quants,
                           uint64_t row) {
  const uint64_t first = uint64_t{static_cast<uint32_t>(id)} * m.n_rows;
  uint64_t cols[kDotCols];
  for (uint32_t i = 0; i < kDotCols; ++i) cols[i] = first + clamped(first_col + i, m.n_rows);
  return dot<Format>(m, cols, in, quants, {row});
}

template <class Format>
RZ_KERNEL void experts_hidden_kernel(ExpertsHiddenArgs a) {
  const uint32_t first_col = first_dot_col(), pair = block_x();
  if (pair >= *a.n_rows * a.n_used || first_col >= a.weight.n_rows) return;
  const float y = dot_expert<Format>(a.weight, a.ids[pair], first_col, a.in, a.quants, pair / a.n_used);
  const uint32_t lane = thread_idx() % 32, col = first_col + lane;
  if (lane >= kDotCols || col >= a.weight.n_rows) return;
  store(a.store, a.activation, y, a.hidden + uint64_t{pair} * a.weight.n_rows + col);
}

template <class Format>
RZ_KERNEL void experts_down_kernel(ExpertsDownArgs a) {
  const uint32_t first_col = first_dot_col(), row = block_x();
  if (row >= *a.n_rows || first_col >= a.down.n_rows) return;
  float sum = 0;
  for (uint32_t k = 0; k < a.n_used; ++k) {
    const uint32_t pair = row * a.n_used + k;
    sum = fmaf(a.weights[pair], dot_expert<Format>(a.down, a.ids[pair], first_col, a.hidden, a.quants, pair), sum);
  }
  const uint32_t lane = thread_idx() % 32, col = first_col + lane;
  if (lane < kDotCols && col < a.down.n_rows) a.out[uint64_t{row} * a.down.n_rows + col] += sum;
}

void route(const RouteArgs& a, uint32_t max_rows, Stream stream) {
  launch(route_kernel, {max_rows, 1}, 32, a, stream);
}

void experts_hidden(const ExpertsHiddenArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.weight.form, [&](auto format) {
    launch(experts_hidden_kernel<decltype(format)>, dot_grid(a.weight.n_rows, max_rows * a.n_used, 1), 32 * kDotWarps,
           a, stream);
  });
}

void experts_down(const ExpertsDownArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.down.form, [&](auto format) {
    launch(experts_down_kernel<decltype(format)>, dot_grid(a.down.n_rows, max_rows, 1), 32 * kDotWarps, a, stream);
  });
}
