// Lines of attention, i.e. a row and a query head: a warp has 16, with lane = 4 g + t. Shared by prompts and latents.

// State in registers of one of a lane's two lines, g and g + 8.
struct AttentionLine {
  uint32_t first_pos, end_pos;
  float scale;  // for sums of products
  float max, total;
  Slope slope;
};

// Fragments of the queries, as for decode rows: by steps of 16 dimensions, in the order in which a lane reads keys.
template <uint32_t kSteps>
struct QueryFragments {
  uint32_t high[kSteps][4], low[kSteps][4];
};

// Turns sums into weights for positions visible to their line and rescales earlier sums.
template <uint32_t kTiles, uint32_t kOuts>
RZ_DEVICE void weigh_tile(const AttentionArgs& a, uint32_t first_pos, uint32_t t, AttentionLine (&lines)[2],
                          float (&sums)[kTiles][4], float (&out)[kOuts][4]) {
  RZ_UNROLL for (uint32_t line = 0; line < 2; ++line) {
    AttentionLine& own = lines[line];
    float max = own.max;
    for (uint32_t n = 0; n < kTiles; ++n) {
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t pos = first_pos + 8 * n + 2 * t + i;
        float& score = sums[n][2 * line + i];
        const bool is_seen = pos >= own.first_pos && pos < own.end_pos;
        score = is_seen ? capped(own.slope.added(score * own.scale, pos), a.op.softcap) : -INFINITY;
        max = fmaxf(max, score);
      }
    }
    max = quad_max(max);
    const float factor = weight_of(own.max, max);
    own.max = max;
    own.total *= factor;
    for (uint32_t n = 0; n < kTiles; ++n) {
      for (uint32_t i = 0; i < 2; ++i) {
        float& weight = sums[n][2 * line + i];
        weight = weight_of(weight, max) * kWeightScale;
        own.total += weight;
      }
    }
    RZ_UNROLL for (uint32_t n = 0; n < kOuts; ++n) {
      for (uint32_t i = 0; i < 2; ++i) out[n][2 * line + i] *= factor;
    }
  }
}

// The weights of 16 positions, times the values' scales of one group, if any.
struct WeightFragments {
  uint32_t high[4], low[4];
};
template <class Values, class ScaleOf>
RZ_DEVICE WeightFragments split_weights(const float (&first)[4], const float (&second)[4], const ScaleOf& scale_of) {
  WeightFragments fragments;
  for (uint32_t i = 0; i < 4; ++i) {
    const float* pair = (i < 2 ? first : second) + i % 2 * 2;
    const Pairs pairs = Values::split(pair[0] * scale_of(i / 2 * 8), pair[1] * scale_of(i / 2 * 8 + 1));
    fragments.high[i] = pairs.high;
    fragments.low[i] = pairs.low;
  }
  return fragments;
}
