// Types without a minimum: x = scale * code, where a code is a level of its type. For given codes the best scale is
// known: s = sum(w x q) / sum(w q q), which reduces the weighted squared error by (sum w x q)^2 / sum(w q q). So a
// search tries a few scales, rounds to codes, keeps the one with the largest reduction, and repeats from the best scale
// for those codes, as in Lloyd's algorithm.

struct Sums {
  float xq, qq;  // of w x q and w q q
};

// A scale, and its reduction of the squared error.
struct Best {
  float scale = 0, gain = 0;
};

// The codes low .. high.
template <int low, int high>
struct Steps {
  static RZ_LANES V8 nearest(V8 v) { return lower(higher(rounded(v), lanes(low)), lanes(high)); }
};

// The levels of IQ4_NL and IQ4_XS, by their midpoints.
struct Iq4Steps {
  static RZ_LANES V8 nearest(V8 v) {
    V8 level = lanes(static_cast<float>(kIq4Levels.level[0]));
    for (int i = 1; i < 16; ++i) level += v > lanes(middle(i)) ? lanes(gap(i)) : lanes(0);
    return level;
  }
  static RZ_LANES V8 number(V8 v) {
    V8 n = lanes(0);
    for (int i = 1; i < 16; ++i) n += is_above(v, middle(i));
    return n;
  }
  static constexpr float middle(int i) { return static_cast<float>(kIq4Levels.level[i] + kIq4Levels.level[i - 1]) / 2; }
  static constexpr float gap(int i) { return static_cast<float>(kIq4Levels.level[i] - kIq4Levels.level[i - 1]); }
};

// Twice the levels of E2M1; those of both signs are symmetric.
struct E2M1Steps {
  static RZ_LANES V8 nearest(V8 v) {
    V8 level = lanes(0);
    const V8 size = magnitude(v);
    for (int i = 1; i < 8; ++i) level += size > lanes(middle(i)) ? lanes(gap(i)) : lanes(0);
    return v < 0 ? -level : level;
  }
  static RZ_LANES V8 number(V8 v) {
    V8 n = lanes(0);
    for (int i = 1; i < 8; ++i) n += is_above(magnitude(v), middle(i));
    return v < 0 ? n + 8.0f : n;
  }
  static constexpr float middle(int i) {
    return static_cast<float>(kE2M1Doubled.level[i] + kE2M1Doubled.level[i - 1]) / 2;
  }
  static constexpr float gap(int i) { return static_cast<float>(kE2M1Doubled.level[i] - kE2M1Doubled.level[i - 1]); }
};

// Values that share a scale. peak: the one of largest magnitude, with its sign.
template <int kVecs>
struct Group {
  const V8* x;
  const V8* w;
  float peak;
};

template <int kVecs>
RZ_LANES float signed_peak(const V8* x) {
  V8 low = x[0], high = x[0];
  for (int i = 1; i < kVecs; ++i) {
    low = lower(low, x[i]);
    high = higher(high, x[i]);
  }
  const float min = -highest(-low), max = highest(high);
  return -min > max ? min : max;
}

// Rounds the values of a group to codes for one scale. Starts: scales to try, as fractions of the peak.
template <class Levels, int kVecs, class StartList>
struct PlainCodec {
  using Unit = Group<kVecs>;
  using Starts = StartList;
  static RZ_LANES Unit unit(const V8* x, const V8* w) { return {x, w, signed_peak<kVecs>(x)}; }
  static RZ_LANES Sums sums(const Unit& group, float scale) {
    const V8 factor = lanes(1 / scale);
    V8 xq = lanes(0), qq = lanes(0);
    for (int i = 0; i < kVecs; ++i) {
      const V8 q = Levels::nearest(group.x[i] * factor), wq = group.w[i] * q;
      xq += wq * group.x[i];
      qq += wq * q;
    }
    return {sum(xq), sum(qq)};
  }
};

template <class Codec>
RZ_LANES void try_scale(const typename Codec::Unit& group, float scale, Best& best) {
  const Sums sums = Codec::sums(group, scale);
  if (sums.qq > 0 && sums.xq * sums.xq > best.gain * sums.qq) {
    best = {sums.xq / sums.qq, sums.xq * sums.xq / sums.qq};
  }
}

template <class Codec>
RZ_LANES Best fit_scale(const typename Codec::Unit& group) {
  Best best;
  if (group.peak == 0) return best;
  for (const float start : Codec::Starts::kParts) try_scale<Codec>(group, group.peak * start, best);
  for (int i = 0; i < Codec::Starts::kRepeats && best.gain > 0; ++i) {
    const float gain = best.gain;
    try_scale<Codec>(group, best.scale, best);
    if (best.gain <= gain) break;
  }
  return best;
}

// The scales of groups as stored: d * (kStep * k + kBase), k from kLow to kHigh. kLargest: the k for the largest scale.
template <int low, int high, int largest, int step = 1, int base = 0>
struct ScaleSteps {
  static constexpr int kLow = low, kHigh = high;
  static RZ_LANES float factor(int k) { return static_cast<float>(step * k + base); }
  static RZ_LANES int nearest(float factor) { return nearest_int((factor - base) / step, low, high); }
  static RZ_LANES float largest_factor() { return factor(largest); }
  static constexpr bool kIsSigned = low < 0;
};

template <int kGroups>
struct SuperScales {
  Half d_bits = 0;
  float d = 0;
  int k[kGroups] = {};
};

// One round for a given d: chooses k for each group, trying three values around the wanted one.
template <class Codec, class Scales, int kGroups>
RZ_LANES float choose_steps(const typename Codec::Unit* groups, const float* wanted, SuperScales<kGroups>& scales,
                            Sums& all) {
  float error = 0;
  all = {0, 0};
  for (int g = 0; g < kGroups; ++g) {
    const int middle = Scales::nearest(wanted[g] * inverse(scales.d));
    float least = 0;
    Sums taken{0, 0};
    bool is_first = true;
    for (int k = middle - 1; k <= middle + 1; ++k) {
      if (k < Scales::kLow || k > Scales::kHigh) continue;
      const float factor = Scales::factor(k), scale = scales.d * factor;
      const Sums sums = scale == 0 || groups[g].peak == 0 ? Sums{0, 0} : Codec::sums(groups[g], scale);
      const float now = scale * (scale * sums.qq - 2 * sums.xq);
      if (!is_first && now >= least) continue;
      is_first = false;
      least = now;
      scales.k[g] = k;
      taken = {factor * sums.xq, factor * factor * sums.qq};
    }
    error += least;
    all.xq += taken.xq;
    all.qq += taken.qq;
  }
  return error;
}

// Least-squares scales shrink a block: they give values x' with sum(w x x') = sum(w x x) - the error. Other errors
// point in any direction and average out along a row and from layer to layer; this one always points towards zero, and
// takes a tenth of a matrix's magnitude at two bits. So most of it is restored, at the cost of a little more squared
// error. Predictions were best with 0.6 to 1 of it restored; a block that hardly resembles its values has no magnitude
// to restore.
constexpr float kGivenBack = 0.8f, kMostGrowth = 1.5f;

// The factor on scales, where `along` is the sum of w x x'.
RZ_LANES float growth(float squares, float along) {
  if (!(along > 0)) return 1;
  const float whole = squares / along;
  return 1 + kGivenBack * ((whole < kMostGrowth ? whole : kMostGrowth) - 1);
}

// The scales of all groups of a super-block, then their common d: initially from the largest of them, then the best for
// the codes and steps found, as long as that improves the error. The stored d is enlarged to compensate for the block's
// loss of magnitude; codes are those of best.d.
template <class Codec, class Scales, int kGroups, class In>
RZ_LANES SuperScales<kGroups> fit_super(const In& in, const typename Codec::Unit* groups) {
  float wanted[kGroups], largest = 0;
  for (int g = 0; g < kGroups; ++g) {
    wanted[g] = fit_scale<Codec>(groups[g]).scale;
    const float size = wanted[g] < 0 ? -wanted[g] : wanted[g];
    if (size > (largest < 0 ? -largest : largest)) largest = wanted[g];
  }
  SuperScales<kGroups> best, now;
  float least = 0, along = 0;
  float d = largest / Scales::largest_factor();
  for (int round = 0; round < 3; ++round) {
    now.d = in.stored(d, now.d_bits);
    if (now.d == 0) break;
    Sums all;
    const float error = choose_steps<Codec, Scales>(groups, wanted, now, all);
    if (error >= least) break;
    least = error;
    best = now;
    along = now.d * all.xq;
    if (!(all.qq > 0)) break;
    d = all.xq / all.qq;
  }
  if (best.d == 0) {
    for (int& k : best.k) k = Scales::nearest(0);
  }
  in.stored(best.d * growth(in.squares(), along), best.d_bits);
  return best;
}
