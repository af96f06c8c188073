// The IQ types: groups of four or eight values form a point of a grid, a level for each value, with separate signs.
//
// Each value is rounded to the nearest level separately; if these levels are a point of the grid, that is the nearest
// point for any weights. Otherwise the nearest by weight is chosen from a list of nearby points: one list for each
// pattern of levels, made once.

// kWidth values with kLevels levels each.
template <int width, int levels, int n_points>
class PointGridIndex {
 public:
  static constexpr int kNear = width == 8 ? 20 : 16;
  using Level = int (*)(uint16_t point, int k);

  template <class Grid>
  PointGridIndex(const Grid& grid, Level level_of) : near_(size_t{kPatterns} * kNear) {
    static_assert(Grid::kPoints == n_points);
    for (int p = 0; p < n_points; ++p) {
      for (int k = 0; k < width; ++k) level[p][k] = static_cast<float>(level_of(grid.points[p], k));
    }
    // The lowest bits of a point are its first digit, and digits are levels in ascending order.
    float digit_level[levels];
    for (int d = 0; d < levels; ++d) digit_level[d] = static_cast<float>(level_of(static_cast<uint16_t>(d), 0));
    std::vector<std::pair<float, uint16_t>> distance(n_points);
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      float wanted[width];
      for (int k = 0, rest = pattern; k < width; ++k, rest /= levels) wanted[k] = digit_level[rest % levels];
      for (int p = 0; p < n_points; ++p) {
        float squares = 0;
        for (int k = 0; k < width; ++k) squares += (wanted[k] - level[p][k]) * (wanted[k] - level[p][k]);
        distance[static_cast<size_t>(p)] = {squares, static_cast<uint16_t>(p)};
      }
      std::partial_sort(distance.begin(), distance.begin() + kNear, distance.end());
      // A list with a single point ends with itself.
      const bool is_point = distance[0].first == 0;
      for (int i = 0; i < kNear; ++i) {
        near_[static_cast<size_t>(pattern) * kNear + static_cast<size_t>(i)] =
            distance[is_point ? 0 : static_cast<size_t>(i)].second;
      }
    }
  }

  const uint16_t* near(int pattern) const { return near_.data() + static_cast<size_t>(pattern) * kNear; }

  alignas(32) float level[n_points][width];

 private:
  static constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }
  static constexpr int kPatterns = power(levels, width);
  std::vector<uint16_t> near_;
};

RZ_LANES V8 load8(const float* at) {
  V8 value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
RZ_LANES V4 load4(const float* at) {
  V4 value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Digits for three levels, whose midpoints are given.
RZ_LANES int pattern_of_three(V8 v, float first_middle, float second_middle) {
  constexpr V8 kPowers = {1, 3, 9, 27, 81, 243, 729, 2187};
  return static_cast<int>(sum((is_above(v, first_middle) + is_above(v, second_middle)) * kPowers));
}
// Digits for eight levels that are `step` apart.
RZ_LANES int pattern_of_eight(V4 v, float first, float inverse_step) {
  constexpr V4 kPowers = {1, 8, 64, 512};
  V4 digits = (v - first) * inverse_step;
  digits = (digits + 0x1.8p23f) - 0x1.8p23f;
  digits = digits < 0 ? V4{} : digits;
  digits = digits > 7 ? V4{} + 7.0f : digits;
  return static_cast<int>(sum(digits * kPowers));
}

// The point of a list that is nearest to v by weight. Lists with one point repeat it.
template <class Index>
RZ_LANES int nearest_point(const Index& index, const uint16_t* list, V8 v, V8 w) {
  int best = list[0];
  if (list[1] == best) return best;
  float most = -1e30f;
  const V8 twice = v + v;
  for (int i = 0; i < Index::kNear; ++i) {
    const V8 g = load8(index.level[list[i]]);
    const float now = sum((w * g) * (twice - g));
    if (now > most) {
      most = now;
      best = list[i];
    }
  }
  return best;
}
template <class Index>
RZ_LANES int nearest_point(const Index& index, const uint16_t* list, V4 v, V4 w) {
  int best = list[0];
  if (list[1] == best) return best;
  float most = -1e30f;
  const V4 twice = v + v;
  for (int i = 0; i < Index::kNear; ++i) {
    const V4 g = load4(index.level[list[i]]);
    const float now = sum((w * g) * (twice - g));
    if (now > most) {
      most = now;
      best = list[i];
    }
  }
  return best;
}

using Iq2Index256 = PointGridIndex<8, 3, 256>;
using Iq2Index512 = PointGridIndex<8, 3, 512>;
using Iq2Index1024 = PointGridIndex<8, 3, 1024>;
using Iq3Index256 = PointGridIndex<4, 8, 256>;
using Iq3Index512 = PointGridIndex<4, 8, 512>;
using Iq1Index = PointGridIndex<8, 3, 2048>;

// The grids, each made when the first block of its type is.
struct Iq2XxsGrid {
  static constexpr float kLargest = 43;
  static const Iq2Index256& index() {
    static const Iq2Index256 made(kIq2xxsGrid, iq2_level);
    return made;
  }
  static RZ_LANES int point(const Iq2Index256& in, V8 v, V8 w) {
    return nearest_point(in, in.near(pattern_of_three(v, 16.5f, 34)), v, w);
  }
};
struct Iq2XsGrid {
  static constexpr float kLargest = 43;
  static const Iq2Index512& index() {
    static const Iq2Index512 made(kIq2xsGrid, iq2_level);
    return made;
  }
  static RZ_LANES int point(const Iq2Index512& in, V8 v, V8 w) {
    return nearest_point(in, in.near(pattern_of_three(v, 16.5f, 34)), v, w);
  }
};
struct Iq2SGrid {
  static constexpr float kLargest = 43;
  static const Iq2Index1024& index() {
    static const Iq2Index1024 made(kIq2sGrid, iq2_level);
    return made;
  }
  static RZ_LANES int point(const Iq2Index1024& in, V8 v, V8 w) {
    return nearest_point(in, in.near(pattern_of_three(v, 16.5f, 34)), v, w);
  }
};
struct Iq3XxsGrid {
  static constexpr float kLargest = 62;
  static const Iq3Index256& index() {
    static const Iq3Index256 made(kIq3xxsGrid, iq3_xxs_level);
    return made;
  }
  static RZ_LANES int point(const Iq3Index256& in, V4 v, V4 w) {
    return nearest_point(in, in.near(pattern_of_eight(v, 4, 0.125f)), v, w);
  }
};
struct Iq3SGrid {
  static constexpr float kLargest = 15;
  static const Iq3Index512& index() {
    static const Iq3Index512 made(kIq3sGrid, iq3_s_level);
    return made;
  }
  static RZ_LANES int point(const Iq3Index512& in, V4 v, V4 w) {
    return nearest_point(in, in.near(pattern_of_eight(v, 1, 0.5f)), v, w);
  }
};

// Absolute values. With even signs, if a block has an odd number of negative values, the sign of the cheapest value is
// flipped.
template <bool kEvenSigns>
RZ_LANES V8 take_signs(V8 x, V8 w, uint8_t& signs) {
  V8 size = magnitude(x);
  int bits = 0;
  for (int k = 0; k < 8; ++k) bits |= (x[k] < 0 ? 1 : 0) << k;
  if (kEvenSigns && (__builtin_popcount(static_cast<unsigned>(bits)) & 1) != 0) {
    const V8 cost = w * size;
    int cheapest = 0;
    for (int k = 1; k < 8; ++k) cheapest = cost[k] < cost[cheapest] ? k : cheapest;
    size[cheapest] = -size[cheapest];
    bits ^= 1 << cheapest;
  }
  signs = static_cast<uint8_t>(bits);
  return size;
}

// A group of points that share a scale. x: absolute values.
template <int kVecs>
struct PointGroup {
  const V8* x;
  const V8* w;
  float peak;
};

template <class Grid, int kVecs, class StartList>
struct EightCodec {
  using Unit = PointGroup<kVecs>;
  using Starts = StartList;
  static RZ_LANES Unit unit(const V8* x, const V8* w) {
    V8 max = x[0];
    for (int i = 1; i < kVecs; ++i) max = higher(max, x[i]);
    return {x, w, highest(max) / Grid::kLargest};
  }
  static RZ_LANES Sums sums(const Unit& group, float scale) {
    const auto& index = Grid::index();
    const float factor = 1 / scale;
    V8 xq = lanes(0), qq = lanes(0);
    for (int i = 0; i < kVecs; ++i) {
      const V8 g = load8(index.level[Grid::point(index, group.x[i] * factor, group.w[i])]), wg = group.w[i] * g;
      xq += wg * group.x[i];
      qq += wg * g;
    }
    return {sum(xq), sum(qq)};
  }
};

RZ_LANES V4 low_half(V8 a) {
  return __builtin_shufflevector(a, a, 0, 1, 2, 3);
}
RZ_LANES V4 high_half(V8 a) {
  return __builtin_shufflevector(a, a, 4, 5, 6, 7);
}

template <class Grid, int kVecs, class StartList>
struct FourCodec {
  using Unit = PointGroup<kVecs>;
  using Starts = StartList;
  static RZ_LANES Unit unit(const V8* x, const V8* w) {
    V8 max = x[0];
    for (int i = 1; i < kVecs; ++i) max = higher(max, x[i]);
    return {x, w, highest(max) / Grid::kLargest};
  }
  static RZ_LANES Sums sums(const Unit& group, float scale) {
    const auto& index = Grid::index();
    const float factor = 1 / scale;
    V4 xq = {}, qq = {};
    for (int i = 0; i < kVecs; ++i) {
      const V4 x[2] = {low_half(group.x[i]), high_half(group.x[i])};
      const V4 w[2] = {low_half(group.w[i]), high_half(group.w[i])};
      for (int h = 0; h < 2; ++h) {
        const V4 g = load4(index.level[Grid::point(index, x[h] * factor, w[h])]), wg = w[h] * g;
        xq += wg * x[h];
        qq += wg * g;
      }
    }
    return {sum(xq), sum(qq)};
  }
};

// IQ1: levels -1, 0 and 1, all shifted by an eighth up or down. kSide: the points that are shifted together.
struct Iq1Grid {
  static const Iq1Index& index() {
    static const Iq1Index made(kIq1Grid, iq1_level);
    return made;
  }
};

struct Iq1Point {
  int point;
  bool is_below;
  Sums sums;
};
RZ_LANES Iq1Point iq1_point(const Iq1Index& index, V8 x, V8 w, float factor, bool is_below) {
  const float shift = is_below ? -0.125f : 0.125f;
  const V8 v = x * factor - shift;
  const int point = nearest_point(index, index.near(pattern_of_three(v, -0.5f, 0.5f)), v, w);
  const V8 q = load8(index.level[point]) + shift, wq = w * q;
  return {point, is_below, {sum(wq * x), sum(wq * q)}};
}

// The squared error for a scale, minus the sum of w x x.
RZ_LANES float scale_error(const Sums& sums, float scale) {
  return scale * (scale * sums.qq - 2 * sums.xq);
}

template <int kVecs>
RZ_LANES float root_mean_square(const V8* x) {
  V8 squares = lanes(0);
  for (int i = 0; i < kVecs; ++i) squares += x[i] * x[i];
  return __builtin_sqrtf(sum(squares) / (8 * kVecs));
}

// kTogether: all points of the group are shifted in the same direction (IQ1_S), or each in its own (IQ1_M).
template <int kVecs, bool kTogether, class StartList>
struct Iq1Codec {
  using Unit = PointGroup<kVecs>;
  using Starts = StartList;
  static RZ_LANES Unit unit(const V8* x, const V8* w) { return {x, w, root_mean_square<kVecs>(x)}; }
  static RZ_LANES Sums sums(const Unit& group, float scale) {
    Iq1Point points[kVecs];
    return choose(group, scale, points);
  }
  static RZ_LANES Sums choose(const Unit& group, float scale, Iq1Point* points) {
    const Iq1Index& index = Iq1Grid::index();
    Iq1Point below[kVecs], above[kVecs];
    Sums all_below{0, 0}, all_above{0, 0}, mixed{0, 0};
    for (int i = 0; i < kVecs; ++i) {
      below[i] = iq1_point(index, group.x[i], group.w[i], 1 / scale, true);
      above[i] = iq1_point(index, group.x[i], group.w[i], 1 / scale, false);
      const bool is_below = scale_error(below[i].sums, scale) < scale_error(above[i].sums, scale);
      points[i] = is_below ? below[i] : above[i];
      all_below = {all_below.xq + below[i].sums.xq, all_below.qq + below[i].sums.qq};
      all_above = {all_above.xq + above[i].sums.xq, all_above.qq + above[i].sums.qq};
      mixed = {mixed.xq + points[i].sums.xq, mixed.qq + points[i].sums.qq};
    }
    if (!kTogether) return mixed;
    const bool is_below = scale_error(all_below, scale) < scale_error(all_above, scale);
    for (int i = 0; i < kVecs; ++i) points[i] = is_below ? below[i] : above[i];
    return is_below ? all_below : all_above;
  }
};
