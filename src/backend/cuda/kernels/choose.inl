// Chooses a token per logit row, like the sampler chain in sampling/. Keys order tokens: larger keys are likelier,
// equal logits are ordered by lower id. One block per part of the vocabulary finds the part's largest keys; then one
// block per row finds the overall largest, and draws.

constexpr uint32_t kChooseThreads = 256;
constexpr uint32_t kOwnTokens = kPartTokens / kChooseThreads;

// Larger for larger x; 0 for NaN, so that it is never chosen.
RZ_DEVICE uint32_t order_of(float x) {
  if (!(x == x)) return 0;
  const uint32_t bits = float_bits(x + 0.0f);  // -0 counts as 0
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
RZ_DEVICE float value_of(uint64_t key) {
  const auto order = static_cast<uint32_t>(key >> 32);
  return float_of_bits((order >> 31) != 0 ? order & 0x7fffffffu : ~order);
}
RZ_DEVICE uint64_t key_of(float logit, uint32_t id) {
  return uint64_t{order_of(logit)} << 32 | (0xffffffffu - id);
}
RZ_DEVICE int32_t id_of(uint64_t key) {
  return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key));
}

RZ_DEVICE uint32_t n_vocab_parts(const ChooseArgs& a) {
  return (a.n_vocab + kPartTokens - 1) / kPartTokens;
}
RZ_DEVICE bool is_greedy(const ChoiceRow& c) {
  return c.temperature == 0 || c.top_k == 1;
}
RZ_DEVICE uint32_t max_candidates(const ChoiceRow& c) {
  if (is_greedy(c)) return 1;
  return c.top_k > 0 ? c.top_k : kMaxCandidates;
}
// Relative to the likeliest token's weight.
RZ_DEVICE double weight_of(const ChoiceRow& c, float logit, float largest) {
  return exp((static_cast<double>(logit) - largest) / c.temperature);
}

RZ_DEVICE float penalized(const ChoiceRow& c, float logit, uint32_t n_seen) {
  if (c.repeat_penalty != 1.0f) logit = logit > 0 ? logit / c.repeat_penalty : logit * c.repeat_penalty;
  return logit - (static_cast<float>(n_seen) * c.frequency_penalty + c.presence_penalty);
}

// Loads a part's logits with their penalties to shared memory; beyond the vocabulary they are NaN. A NaN of the model
// becomes infinity, which penalties do not change, and is found as the likeliest.
RZ_DEVICE void load_part(const ChooseArgs& a, const ChoiceRow& c, uint32_t row, uint32_t part, float* values) {
  const uint32_t first = part * kPartTokens;
  const float* logits = a.logits + uint64_t{row} * a.n_vocab + first;
  for (uint32_t i = thread_idx(); i < kPartTokens; i += kChooseThreads) {
    const float logit = first + i < a.n_vocab ? logits[i] : 0.0f;
    values[i] = first + i >= a.n_vocab ? NAN : logit == logit ? logit : INFINITY;
  }
  barrier();
  for (uint32_t s = thread_idx(); s < c.n_seen; s += kChooseThreads) {
    const SeenToken seen = a.seen[c.first_seen + s];
    const uint32_t i = static_cast<uint32_t>(seen.id) - first;
    if (i < kPartTokens) values[i] = penalized(c, values[i], seen.n_seen);
  }
  barrier();
}

// Over the block's threads, returned to all. `warps`: shared, one per warp.
RZ_DEVICE float choose_sum(float x, float* warps) {
  const float own = warp_sum(x);
  barrier();  // the last sum has been read
  if (thread_idx() % 32 == 0) warps[thread_idx() / 32] = own;
  barrier();
  float sum = 0;
  for (uint32_t w = 0; w < kChooseThreads / 32; ++w) sum += warps[w];
  return sum;
}
RZ_DEVICE float choose_max(float x, float* warps) {
  const float own = warp_max(x);
  barrier();
  if (thread_idx() % 32 == 0) warps[thread_idx() / 32] = own;
  barrier();
  float max = -INFINITY;
  for (uint32_t w = 0; w < kChooseThreads / 32; ++w) max = fmaxf(max, warps[w]);
  return max;
}

// A key such that exactly k of the block's keys are at least as large, or 0 if there are no more than k.
// n_own_above(key): how many of the thread's keys are. Counts are exact in F32.
template <class CountOwn>
RZ_DEVICE uint64_t key_below_largest(uint32_t k, float* warps, const CountOwn& n_own_above) {
  uint64_t least = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint64_t trial = least | uint64_t{1} << bit;
    const auto n = static_cast<uint32_t>(choose_sum(static_cast<float>(n_own_above(trial)), warps));
    if (n >= k) least = trial;
    if (n == k) return least;
  }
  return least;
}

// The sum of x over the block's threads, in order, for thread 0.
RZ_DEVICE double ordered_sum(double x, double* shared) {
  shared[thread_idx()] = x;
  barrier();
  double sum = 0;
  for (uint32_t t = 0; thread_idx() == 0 && t < kChooseThreads; ++t) sum += shared[t];
  return sum;
}

RZ_KERNEL void choose_part_kernel(ChooseArgs a) {
  RZ_SHARED(float, values, kPartTokens);
  RZ_SHARED(double, sums, kChooseThreads);
  RZ_SHARED(float, warps, kChooseThreads / 32);
  RZ_SHARED(uint32_t, n_found, 1);
  const uint32_t part = block_y(), row = block_x(), thread = thread_idx();
  if (row >= *a.n_rows) return;
  const ChoiceRow c = a.choices[row];
  if (c.is_wanted == 0) return;
  load_part(a, c, row, part, values);
  uint64_t keys[kOwnTokens];
  float own_max = -INFINITY;
  for (uint32_t j = 0; j < kOwnTokens; ++j) {
    const uint32_t i = j * kChooseThreads + thread;
    keys[j] = key_of(values[i], part * kPartTokens + i);
    own_max = fmaxf(own_max, values[i]);
  }
  const float max = choose_max(own_max, warps);
  const uint64_t least = key_below_largest(max_candidates(c), warps, [&keys](uint64_t key) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < kOwnTokens; ++j) n += keys[j] >= key ? 1 : 0;
    return n;
  });
  if (thread == 0) *n_found = 0;
  barrier();
  const uint64_t at = uint64_t{row} * n_vocab_parts(a) + part;
  for (uint32_t j = 0; j < kOwnTokens; ++j) {
    if (keys[j] < least || keys[j] >> 32 == 0) continue;
    a.candidates[at * kMaxCandidates + shared_add(n_found, 1)] = keys[j];
  }
  // The weight of the whole vocabulary is needed only without top-k.
  double own_sum = 0;
  for (uint32_t j = 0; j < kOwnTokens && c.top_k == 0 && !is_greedy(c); ++j) {
    const float x = values[j * kChooseThreads + thread];
    if (x > -INFINITY) own_sum += weight_of(c, x, max);
  }
  const double sum = ordered_sum(own_sum, sums);
  if (thread == 0) a.parts[at] = {sum, max, *n_found};
}

// Sorts the largest keys of all parts; returns their number.
RZ_DEVICE uint32_t sort_candidates(const ChooseArgs& a, const ChoiceRow& c, uint32_t row, uint64_t* found,
                                   uint64_t* sorted, uint32_t* n_found, float* warps) {
  const uint32_t k = max_candidates(c), n_places = n_vocab_parts(a) * k, thread = thread_idx();
  const uint64_t first = uint64_t{row} * n_vocab_parts(a);
  const auto for_each_own = [&](const auto& visit) {
    for (uint32_t place = thread; place < n_places; place += kChooseThreads) {
      const uint64_t part = first + place / k;
      if (place % k < a.parts[part].n_candidates) visit(a.candidates[part * kMaxCandidates + place % k]);
    }
  };
  const uint64_t least = key_below_largest(k, warps, [&](uint64_t key) {
    uint32_t n = 0;
    for_each_own([&](uint64_t own) { n += own >= key ? 1 : 0; });
    return n;
  });
  if (thread == 0) *n_found = 0;
  barrier();
  for_each_own([&](uint64_t own) {
    if (own >= least) found[shared_add(n_found, 1)] = own;
  });
  barrier();
  const uint32_t n = *n_found;
  for (uint32_t i = thread; i < n; i += kChooseThreads) {
    uint32_t rank = 0;
    for (uint32_t j = 0; j < n; ++j) rank += found[j] > found[i] ? 1 : 0;
    sorted[rank] = found[i];
  }
  barrier();
  return n;
}

RZ_DEVICE void normalize(double* p, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += p[i];
  for (uint32_t i = 0; i < n; ++i) p[i] /= sum;
}

// On thread 0: applies top-p and min-p to n sorted candidates, then draws. kNoToken if tokens beyond the candidates
// might count, without top-k.
RZ_DEVICE int32_t draw_candidate(const ChoiceRow& c, const uint64_t* sorted, double* p, uint32_t n) {
  const bool may_lack_some = c.top_k == 0 && n == kMaxCandidates;
  if (c.top_k > 0) normalize(p, n);
  uint32_t n_kept = n;
  if (c.top_p < 1) {
    double sum = 0;
    n_kept = 0;
    while (n_kept < n && (n_kept == 0 || sum < c.top_p)) sum += p[n_kept++];
    if (may_lack_some && sum < c.top_p) return -1;
    normalize(p, n_kept);
  }
  if (c.min_p > 0) {
    uint32_t n_likely = 0;
    while (n_likely < n_kept && p[n_likely] >= c.min_p * p[0]) ++n_likely;
    if (may_lack_some && n_likely == n) return -1;
    n_kept = n_likely > 0 ? n_likely : 1;
    normalize(p, n_kept);
  }
  double sum = 0;
  for (uint32_t i = 0; i < n_kept; ++i) {
    sum += p[i];
    if (c.u < sum) return id_of(sorted[i]);
  }
  return id_of(sorted[0]);  // rounding left u above the sum
}

// A part's weight relative to the likeliest token's.
RZ_DEVICE double part_weight(const ChoiceRow& c, const ChoicePart& part, float largest) {
  return part.n_candidates > 0 ? part.sum * weight_of(c, part.max, largest) : 0.0;
}

// The token at which the running sum of all weights, by id, exceeds u of the total; for thread 0.
RZ_DEVICE int32_t draw_from_all(const ChooseArgs& a, const ChoiceRow& c, uint32_t row, uint64_t likeliest, double total,
                                float* values, double* sums, double* rest, uint32_t* chosen_part) {
  const ChoicePart* parts = a.parts + uint64_t{row} * n_vocab_parts(a);
  const float largest = value_of(likeliest);
  if (thread_idx() == 0) {
    double before = 0;
    uint32_t part = 0;
    for (; part + 1 < n_vocab_parts(a); ++part) {
      const double weight = part_weight(c, parts[part], largest);
      if (c.u * total < before + weight) break;
      before += weight;
    }
    *chosen_part = part;
    *rest = c.u * total - before;
  }
  barrier();
  load_part(a, c, row, *chosen_part, values);
  const float* own = values + thread_idx() * kOwnTokens;
  double own_sum = 0;
  for (uint32_t j = 0; j < kOwnTokens; ++j) own_sum += own[j] == own[j] ? weight_of(c, own[j], largest) : 0.0;
  sums[thread_idx()] = own_sum;
  barrier();
  if (thread_idx() > 0) return -1;
  double sum = 0;
  for (uint32_t t = 0; t < kChooseThreads; ++t) {
    if (*rest >= sum + sums[t]) {
      sum += sums[t];
      continue;
    }
    for (uint32_t i = t * kOwnTokens; i < (t + 1) * kOwnTokens; ++i) {
      sum += values[i] == values[i] ? weight_of(c, values[i], largest) : 0.0;
      if (*rest < sum) return static_cast<int32_t>(*chosen_part * kPartTokens + i);
    }
  }
  return id_of(likeliest);  // rounding left it above the sum
}

RZ_KERNEL void choose_kernel(ChooseArgs a) {
  RZ_SHARED(float, values, kPartTokens);
  RZ_SHARED(uint64_t, found, kMaxCandidates);
  RZ_SHARED(uint64_t, sorted, kMaxCandidates);
  RZ_SHARED(double, p, kMaxCandidates);
  RZ_SHARED(double, rest, 1);
  RZ_SHARED(float, warps, kChooseThreads / 32);
  RZ_SHARED(uint32_t, number, 1);
  const uint32_t row = block_x(), thread = thread_idx();
  if (row >= *a.n_rows) return;
  const ChoiceRow c = a.choices[row];
  int32_t* out = a.out + row;
  if (c.is_wanted == 0) {
    if (thread == 0) *out = -1;
    return;
  }
  const uint32_t n = sort_candidates(a, c, row, found, sorted, number, warps);
  const float largest = n == 0 ? INFINITY : value_of(sorted[0]);
  const bool is_prediction = largest > -INFINITY && largest < INFINITY;
  if (!is_prediction || is_greedy(c)) {
    if (thread == 0) *out = is_prediction ? id_of(sorted[0]) : -1;
    return;
  }
  double total = 1;
  if (c.top_k == 0) {
    total = 0;
    const ChoicePart* parts = a.parts + uint64_t{row} * n_vocab_parts(a);
    for (uint32_t part = 0; part < n_vocab_parts(a); ++part) total += part_weight(c, parts[part], largest);
  }
  if (c.top_k == 0 && c.top_p >= 1 && c.min_p <= 0) {
    const int32_t id = draw_from_all(a, c, row, sorted[0], total, values, p, rest, number);
    if (thread == 0) *out = id;
    return;
  }
  for (uint32_t i = thread; i < n; i += kChooseThreads) p[i] = weight_of(c, value_of(sorted[i]), largest) / total;
  barrier();
  if (thread == 0) *out = draw_candidate(c, sorted, p, n);
}

void choose(const ChooseArgs& a, uint32_t max_rows, Stream stream) {
  launch(choose_part_kernel, {max_rows, (a.n_vocab + kPartTokens - 1) / kPartTokens}, kChooseThreads, a, stream);
  launch(choose_kernel, {max_rows, 1}, kChooseThreads, a, stream);
}
