// Types with a minimum: x = scale * q - min, q from 0 to kMax. For given codes the best scale and min solve two linear
// equations. The K types' min cannot be negative.

struct Range {
  float scale = 0, min = 0, gain = 0;
};

// Sums of w q, w q q and w x q; those of w and w x belong to the group.
struct RangeSums {
  float q, qq, xq;
};

template <int kVecs>
struct RangeGroup {
  const V8* x;
  const V8* w;
  float low, high;  // 0 lies between them if the min cannot be negative
  float sum_w, sum_wx;
};

template <int kVecs, bool kFreeMin>
RZ_LANES RangeGroup<kVecs> range_group(const V8* x, const V8* w) {
  V8 low = x[0], high = x[0], sum_w = w[0], sum_wx = w[0] * x[0];
  for (int i = 1; i < kVecs; ++i) {
    low = lower(low, x[i]);
    high = higher(high, x[i]);
    sum_w += w[i];
    sum_wx += w[i] * x[i];
  }
  RangeGroup<kVecs> group{x, w, -highest(-low), highest(high), sum(sum_w), sum(sum_wx)};
  if (!kFreeMin && group.low > 0) group.low = 0;
  if (!kFreeMin && group.high < 0) group.high = 0;
  return group;
}

template <int kMax, int kVecs>
RZ_LANES V8 range_code(V8 x, float min, float inverse_scale) {
  return lower(higher(rounded((x + min) * inverse_scale), lanes(0)), lanes(kMax));
}

template <int kMax, int kVecs>
RZ_LANES RangeSums range_sums(const RangeGroup<kVecs>& group, float min, float inverse_scale) {
  V8 q1 = lanes(0), qq = lanes(0), xq = lanes(0);
  for (int i = 0; i < kVecs; ++i) {
    const V8 q = range_code<kMax, kVecs>(group.x[i], min, inverse_scale), wq = group.w[i] * q;
    q1 += wq;
    qq += wq * q;
    xq += wq * group.x[i];
  }
  return {sum(q1), sum(qq), sum(xq)};
}

// The best scale and min for the codes that gave these sums.
template <bool kFreeMin, int kVecs>
RZ_LANES Range solve(const RangeGroup<kVecs>& group, const RangeSums& sums) {
  const float det = group.sum_w * sums.qq - sums.q * sums.q;
  Range range;
  if (det > 0) {
    range.scale = (group.sum_w * sums.xq - group.sum_wx * sums.q) / det;
    range.min = (range.scale * sums.q - group.sum_wx) / group.sum_w;
  }
  if (!(det > 0) || (!kFreeMin && range.min < 0) || range.scale <= 0) {
    range.min = kFreeMin ? -group.sum_wx / group.sum_w : 0;
    range.scale = !kFreeMin && sums.qq > 0 && sums.xq > 0 ? sums.xq / sums.qq : 0;
  }
  range.gain = range.scale * sums.xq - range.min * group.sum_wx;
  return range;
}

template <int kMax, bool kFreeMin, class Starts, int kVecs>
RZ_LANES Range fit_range(const RangeGroup<kVecs>& group) {
  Range best;
  const float width = group.high - group.low;
  if (width == 0) {
    if (kFreeMin) best.min = -group.low;
    return best;
  }
  for (const float part : Starts::kParts) {
    const RangeSums sums = range_sums<kMax>(group, -group.low, static_cast<float>(kMax) / (width * part));
    const Range range = solve<kFreeMin>(group, sums);
    if (range.gain > best.gain) best = range;
  }
  for (int i = 0; i < Starts::kRepeats && best.scale > 0; ++i) {
    const Range range = solve<kFreeMin>(group, range_sums<kMax>(group, best.min, 1 / best.scale));
    if (range.gain <= best.gain) break;
    best = range;
  }
  return best;
}

template <int kGroups>
struct SuperRanges {
  Half d_bits = 0, dmin_bits = 0;
  float d = 0, dmin = 0;
  int scale[kGroups] = {}, min[kGroups] = {};

  RZ_LANES float x_scale(int g) const { return d * static_cast<float>(scale[g]); }
  RZ_LANES float x_min(int g) const { return dmin * static_cast<float>(min[g]); }
};

// The sums for the equations of a super-block's d and dmin, where x = d * A - dmin * B.
struct SuperSums {
  float aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
};

struct RangeChoice {
  float error = 0;  // minus the sum of w x x
  int scale = 0, min = 0;
  RangeSums sums{};
};

template <int kVecs>
RZ_LANES float range_error(const RangeGroup<kVecs>& group, const RangeSums& sums, float scale, float min) {
  return scale * (scale * sums.qq - 2 * sums.xq - 2 * min * sums.q) + min * (2 * group.sum_wx + min * group.sum_w);
}

// The min is rounded twice: as wanted, and as is best for the codes of the first one.
template <int kMax, int kMaxStep, int kVecs>
RZ_LANES RangeChoice try_range(const RangeGroup<kVecs>& group, float d, float dmin, int scale_step, float wanted_min) {
  const float scale = d * static_cast<float>(scale_step), factor = inverse(scale), inverse_dmin = inverse(dmin);
  RangeChoice best;
  float wanted = wanted_min;
  for (int i = 0; i < 2; ++i) {
    const int step = nearest_int(wanted * inverse_dmin, 0, kMaxStep);
    if (i > 0 && step == best.min) break;
    const float min = dmin * static_cast<float>(step);
    const RangeSums sums = range_sums<kMax>(group, min, factor);
    const float error = range_error(group, sums, scale, min);
    if (i == 0 || error < best.error) best = {error, scale_step, step, sums};
    wanted = (scale * sums.q - group.sum_wx) / group.sum_w;
  }
  return best;
}

template <int kMax, int kMaxStep, int kGroups, int kVecs>
RZ_LANES float choose_ranges(const RangeGroup<kVecs>* groups, const Range* wanted, SuperRanges<kGroups>& ranges,
                             SuperSums& all) {
  float error = 0;
  all = {};
  for (int g = 0; g < kGroups; ++g) {
    const int middle = nearest_int(wanted[g].scale * inverse(ranges.d), 0, kMaxStep);
    RangeChoice best;
    for (int k = middle > 0 ? middle - 1 : 0; k <= middle + 1 && k <= kMaxStep; ++k) {
      const RangeChoice choice = try_range<kMax, kMaxStep>(groups[g], ranges.d, ranges.dmin, k, wanted[g].min);
      if (choice.error < best.error) best = choice;
    }
    const auto a = static_cast<float>(best.scale), b = static_cast<float>(best.min);
    ranges.scale[g] = best.scale;
    ranges.min[g] = best.min;
    error += best.error;
    all.aa += a * a * best.sums.qq;
    all.ab += a * b * best.sums.q;
    all.bb += b * b * groups[g].sum_w;
    all.xa += a * best.sums.xq;
    all.xb += b * groups[g].sum_wx;
  }
  return error;
}

// Like fit_super: the stored d and dmin are enlarged to compensate for the block's loss of magnitude.
template <int kMax, int kMaxStep, int kGroups, class Starts, class In, int kVecs>
RZ_LANES SuperRanges<kGroups> fit_super_ranges(const In& in, const RangeGroup<kVecs>* groups) {
  Range wanted[kGroups];
  float max_scale = 0, max_min = 0;
  for (int g = 0; g < kGroups; ++g) {
    wanted[g] = fit_range<kMax, false, Starts>(groups[g]);
    max_scale = wanted[g].scale > max_scale ? wanted[g].scale : max_scale;
    max_min = wanted[g].min > max_min ? wanted[g].min : max_min;
  }
  SuperRanges<kGroups> best, now;
  float least = 0, along = 0, d = max_scale / kMaxStep, dmin = max_min / kMaxStep;
  for (int round = 0; round < 3; ++round) {
    now.d = in.stored(d, now.d_bits);
    now.dmin = in.stored(dmin, now.dmin_bits);
    SuperSums all;
    const float error = choose_ranges<kMax, kMaxStep>(groups, wanted, now, all);
    if (error >= least) break;
    least = error;
    best = now;
    along = now.d * all.xa - now.dmin * all.xb;
    const float det = all.aa * all.bb - all.ab * all.ab;
    if (!(det > 0)) break;
    d = (all.xa * all.bb - all.ab * all.xb) / det;
    dmin = (all.ab * all.xa - all.aa * all.xb) / det;
    if (!(d > 0) || !(dmin >= 0)) break;
  }
  const float factor = growth(in.squares(), along);
  in.stored(best.d * factor, best.d_bits);
  in.stored(best.dmin * factor, best.dmin_bits);
  return best;
}
