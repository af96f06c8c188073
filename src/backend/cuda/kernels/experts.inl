// Mixture of experts: the router; the products of a few rows with their experts, one warp per row and expert; and the
// grouping for linear_many's products of many rows.

constexpr uint32_t kGroupWarps = 8;

// Keeps only the keys of experts in the best groups.
RZ_DEVICE void leave_groups(const RouteArgs& a, float* keys, float* group_keys) {
  const uint32_t lane = thread_idx(), size = a.op.n_experts / a.op.n_groups;
  float best = -INFINITY, second = -INFINITY;
  for (uint32_t i = 0; lane < a.op.n_groups && i < size; ++i) {
    const float key = keys[lane * size + i];
    second = fmaxf(second, fminf(best, key));
    best = fmaxf(best, key);
  }
  const float own = a.op.n_group_best == 2 && size > 1 ? best + second : best;
  group_keys[lane] = own;
  barrier();
  uint32_t n_before = 0;
  for (uint32_t g = 0; g < a.op.n_groups; ++g) {
    n_before += group_keys[g] > own || (group_keys[g] == own && g < lane) ? 1 : 0;
  }
  for (uint32_t i = 0; lane < a.op.n_groups && n_before >= a.op.n_used_groups && i < size; ++i) {
    keys[lane * size + i] = -INFINITY;
  }
  barrier();
}

// The inverse of SparseMixer's score of the choice `id`: the sum over near experts, which are the chosen one and those
// after it in the order of choice with logits near its own.
RZ_DEVICE float sum_of_near(const RouteArgs& a, const float* logits, uint32_t id) {
  const float max = logits[id];
  float sum = 0;
  for (uint32_t e = thread_idx(); e < a.op.n_experts; e += 32) {
    const float x = logits[e];
    const bool is_left = x < max || (x == max && e >= id);
    if (is_left && max - x <= a.op.near_share * fmaxf(fabsf(x), max)) sum += expf(x - max);
  }
  return warp_sum(sum);
}

RZ_KERNEL void route_kernel(RouteArgs a) {
  RZ_SHARED(float, p, kMaxExperts);
  RZ_SHARED(float, chosen_by, kMaxExperts);
  RZ_SHARED(float, group_keys, kMaxExpertGroups);
  const uint32_t row = block_x(), lane = thread_idx();
  if (row >= *a.n_rows) return;
  const float* logits = a.logits + uint64_t{row} * a.op.n_experts;
  float max = -INFINITY;
  for (uint32_t e = lane; e < a.op.n_experts; e += 32) max = fmaxf(max, logits[e]);
  max = warp_max(max);
  const bool is_softmax = a.op.score == RouteScore::kSoftmax;
  float sum = 0;
  for (uint32_t e = lane; e < a.op.n_experts; e += 32) {
    sum += p[e] = is_softmax ? expf(logits[e] - max) : 1.0f / (1.0f + expf(-logits[e]));
  }
  sum = is_softmax ? warp_sum(sum) : 1.0f;
  // Experts are chosen by logits if keys have the same order, since different logits may have equal exponentials.
  const bool has_keys = a.bias != nullptr || a.op.n_groups > 1;
  for (uint32_t e = lane; has_keys && e < a.op.n_experts; e += 32) {
    chosen_by[e] = p[e] / sum + (a.bias == nullptr ? 0.0f : a.bias[e]);
  }
  barrier();  // written by other lanes
  if (a.op.n_groups > 1) leave_groups(a, chosen_by, group_keys);
  const float* keys = has_keys ? chosen_by : logits;
  float chosen_sum = 0, own_p = 0;
  uint32_t own_id = 0;
  float last = INFINITY;
  uint32_t last_id = 0;
  for (uint32_t k = 0; k < a.op.n_used; ++k) {
    float best = -INFINITY;
    uint32_t best_id = a.op.n_experts;
    for (uint32_t e = lane; e < a.op.n_experts; e += 32) {
      const bool is_after = keys[e] < last || (keys[e] == last && (k == 0 || e > last_id));
      if (is_after && (best_id == a.op.n_experts || keys[e] > best)) {
        best = keys[e];
        best_id = e;
      }
    }
    warp_argmax(&best, &best_id);
    last = best;
    last_id = best_id;
    best_id = best_id < a.op.n_experts ? best_id : 0;  // NaN logits have no best one
    const float score = a.op.score == RouteScore::kSparseMixer ? 1.0f / sum_of_near(a, logits, best_id) : p[best_id];
    chosen_sum += score;
    own_p = lane == k ? score : own_p;
    own_id = lane == k ? best_id : own_id;
  }
  if (lane >= a.op.n_used) return;
  const uint64_t at = uint64_t{row} * a.op.n_used + lane;
  a.ids[at] = static_cast<float>(own_id);
  if (!is_softmax) chosen_sum = fmaxf(chosen_sum, kLeastScoreSum);
  const float own_scale = a.scales == nullptr ? 1.0f : a.scales[own_id];
  a.weights[at] = own_p / (a.op.renormalize ? chosen_sum : sum) * a.op.scale * own_scale;
}

// The expert's index in stacks that begin with first_expert; beyond their end for earlier experts.
RZ_DEVICE uint32_t expert_in_stack(float id, uint32_t first_expert) {
  return static_cast<uint32_t>(id) - first_expert;
}

// Lane i gets the product of an expert's column first_col + i with the row.
template <class Format>
RZ_DEVICE float dot_expert(const Matrix& m, uint32_t expert, uint32_t first_col, const float* in,
                           const QuantRows& quants, uint64_t row) {
  const uint64_t first = uint64_t{expert} * m.n_rows;
  uint64_t cols[kDotCols];
  for (uint32_t i = 0; i < kDotCols; ++i) cols[i] = first + clamped(first_col + i, m.n_rows);
  return dot<Format>(m, cols, in, quants, {row});
}

template <class Format>
RZ_KERNEL void experts_hidden_kernel(ExpertsHiddenArgs a) {
  const uint32_t first_col = first_dot_col(block_y()), pair = *a.rows.first * a.op.n_used + block_x();
  if (pair >= *a.rows.end * a.op.n_used || first_col >= a.weight.n_rows) return;
  const uint32_t expert = expert_in_stack(a.ids[pair], a.op.first_expert);
  if (expert >= a.weight.n_mats) return;
  float y = dot_expert<Format>(a.weight, expert, first_col, a.in, a.quants, pair / a.op.n_used);
  const uint32_t lane = thread_idx() % 32, col = first_col + lane;
  if (lane >= kDotCols || col >= a.weight.n_rows) return;
  if (a.weights != nullptr) y *= a.weights[pair];
  if (a.bias != nullptr) y += a.bias[uint64_t{expert} * a.op.d_ff + col];
  store(a.store, a.op.activation, y, a.hidden + uint64_t{pair} * a.weight.n_rows + col);
}

template <class Format>
RZ_KERNEL void experts_down_kernel(ExpertsDownArgs a) {
  const uint32_t first_col = first_dot_col(block_y()), row = *a.rows.first + block_x();
  if (row >= *a.rows.end || first_col >= a.down.n_rows) return;
  const uint32_t lane = thread_idx() % 32, col = first_col + lane;
  const bool has_bias = a.bias != nullptr && lane < kDotCols && col < a.down.n_rows;
  float sum = 0;
  for (uint32_t k = 0; k < a.op.n_used; ++k) {
    const uint32_t pair = row * a.op.n_used + k;
    const uint32_t expert = expert_in_stack(a.ids[pair], a.op.first_expert);
    if (expert >= a.down.n_mats) continue;
    float y = dot_expert<Format>(a.down, expert, first_col, a.hidden, a.quants, pair);
    if (has_bias) y += a.bias[uint64_t{expert} * a.down.n_rows + col];
    sum = fmaf(a.weights == nullptr ? 1.0f : a.weights[pair], y, sum);
  }
  if (lane < kDotCols && col < a.down.n_rows) a.out[uint64_t{row} * a.down.n_rows + col] += sum;
}

// One block per expert. Each of its warps scans a part of all pairs, counts those of the expert, and then lists them
// after those of earlier experts.
RZ_KERNEL void group_pairs_kernel(GroupPairsArgs a) {
  RZ_SHARED(uint32_t, before, kGroupWarps);
  RZ_SHARED(uint32_t, own, kGroupWarps);
  const uint32_t expert = block_x(), warp = thread_idx() / 32, lane = thread_idx() % 32;
  const uint32_t first = *a.rows.first * a.op.n_used, end = *a.rows.end * a.op.n_used;
  const uint32_t part = (end - first + 32 * kGroupWarps - 1) / (32 * kGroupWarps) * 32,
                 part_first = first + warp * part;
  const auto id_of = [&](uint32_t pair) {
    return pair < end ? expert_in_stack(a.ids[pair], a.op.first_expert) : a.n_experts;
  };
  uint32_t n_before = 0, n_own = 0;
  for (uint32_t pair = part_first; pair < part_first + part; pair += 32) {
    const uint32_t id = id_of(pair + lane);
    n_before += count_bits(warp_ballot(id < expert));
    n_own += count_bits(warp_ballot(id == expert));
  }
  if (lane == 0) {
    before[warp] = n_before;
    own[warp] = n_own;
  }
  barrier();
  uint32_t start = 0, n_all = 0, at = 0;
  for (uint32_t w = 0; w < kGroupWarps; ++w) {
    at += w < warp ? own[w] : 0;
    start += before[w];
    n_all += own[w];
  }
  at += start;
  for (uint32_t pair = part_first; pair < part_first + part; pair += 32) {
    const bool is_own = id_of(pair + lane) == expert;
    const uint32_t lanes = warp_ballot(is_own);
    if (is_own) a.out.pairs[at + count_bits(lanes & ((1u << lane) - 1))] = pair + lane;
    at += count_bits(lanes);
  }
  const uint32_t end_tile = (start + n_all) / kTileRows + expert + 1;
  for (uint32_t tile = start / kTileRows + expert + thread_idx(); tile < end_tile; tile += 32 * kGroupWarps) {
    a.out.tile_experts[tile] = expert;
  }
  if (thread_idx() == 0) a.out.starts[expert] = start;
  if (thread_idx() == 0 && expert + 1 == a.n_experts) a.out.starts[a.n_experts] = start + n_all;
}

RZ_KERNEL void experts_sum_kernel(ExpertsSumArgs a) {
  const uint32_t row = *a.rows.first + block_x(), col = block_y() * 32 * kGroupWarps + thread_idx();
  if (row >= *a.rows.end || col >= a.n_cols) return;
  float sum = 0;
  for (uint32_t k = 0; k < a.op.n_used; ++k) {
    const uint64_t pair = uint64_t{row} * a.op.n_used + k;
    const uint32_t expert = expert_in_stack(a.ids[pair], a.op.first_expert);
    if (expert >= a.n_experts) continue;
    float y = a.results[pair * a.n_cols + col];
    if (a.bias != nullptr) y += a.bias[uint64_t{expert} * a.n_cols + col];
    sum = fmaf(a.weights == nullptr ? 1.0f : a.weights[pair], y, sum);
  }
  a.out[uint64_t{row} * a.n_cols + col] += sum;
}

void route(const RouteArgs& a, uint32_t max_rows, Stream stream) {
  launch(route_kernel, {max_rows, 1}, 32, a, stream);
}

void experts_hidden(const ExpertsHiddenArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.weight.type, [&](auto format) {
    launch(experts_hidden_kernel<decltype(format)>, dot_grid(a.weight.n_rows, max_rows * a.op.n_used), 32 * kDotWarps,
           a, stream);
  });
}

void experts_down(const ExpertsDownArgs& a, uint32_t max_rows, Stream stream) {
  with_format(a.down.type, [&](auto format) {
    launch(experts_down_kernel<decltype(format)>, dot_grid(a.down.n_rows, max_rows), 32 * kDotWarps, a, stream);
  });
}

void group_pairs(const GroupPairsArgs& a, Stream stream) {
  launch(group_pairs_kernel, {a.n_experts, 1}, 32 * kGroupWarps, a, stream);
}

void experts_sum(const ExpertsSumArgs& a, uint32_t max_rows, Stream stream) {
  constexpr uint32_t kThreads = 32 * kGroupWarps;
  launch(experts_sum_kernel, {max_rows, (a.n_cols + kThreads - 1) / kThreads}, kThreads, a, stream);
}
