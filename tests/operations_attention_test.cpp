// Cache writes and attention of every KV type on every backend, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/kv_types.h"
#include "backend/reference/reference_backend.h"
#include "support/attention_rig.h"
#include "support/backends_under_test.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

class AttentionTest : public testing::TestWithParam<std::tuple<BackendUnderTest, KvType>> {
 protected:
  void SetUp() override { skip_where_absent(std::get<0>(GetParam())); }
};

// Two decode rows, one of them far into a long sequence, and a prompt chunk that crosses blocks and pieces.
const std::vector<Chunk> kMixedBatch = {{0, 37, 1}, {1, 603, 1}, {2, 50, 19}};
constexpr uint32_t kMixedDecodeRows = 2;

std::vector<float> mixed_attention(AttentionRig& rig) {
  for (const Chunk& chunk : kMixedBatch) rig.store_history(chunk.seq, chunk.first_pos);
  return rig.attend(kMixedBatch, kMixedDecodeRows);
}

// Queries, keys and values are in [-1, 1]. A score's error is the roundings of an F32 product (and of a softcap); that
// changes the weights by as much, relatively, as do exp and the softmax's sums; and weights that change by a share e
// move a mean of values by e times their mean distance from it, which is below 1. Products of split values also lose a
// share of each term.
std::vector<double> attention_bounds(const AttentionCase& c, const AttentionRig& rig, Arithmetic prefill,
                                     const std::vector<Chunk>& chunks = kMixedBatch) {
  std::vector<double> bounds;
  for (const Chunk& chunk : chunks) {
    for (uint32_t pos = chunk.first_pos; pos < chunk.first_pos + chunk.n_rows; ++pos) {
      for (uint32_t h = 0; h < c.n_heads; ++h) {
        double size = 0, square = 0;
        for (uint32_t i = 0; i < c.head_dim; ++i) {
          const double q = rig.query(chunk.seq, pos)[h * c.head_dim + i];
          size += std::fabs(q);
          square += q * q;
        }
        const bool splits = prefill == Arithmetic::kSplitBf16 && chunk.n_rows > 1;
        const double lost = splits ? 3 * kSplitUnit : 0;
        const double product = sum_sigma(c.head_dim) * size + lost * std::sqrt(square);
        // The sum is rounded where a slope reaches some tens; farther positions have no weight.
        const double biased = c.has_slopes ? 4 * kUnit * 32 : 0;
        const double score = kSigmas * c.scale() * product + c.softcap * kTanhError + biased;
        const uint32_t n_seen = c.is_bidirectional ? chunk.first_pos + chunk.n_rows : pos + 1;
        const double bound = score + 2 * kExpError + kSigmas * (sum_sigma(n_seen) + lost);
        bounds.insert(bounds.end(), c.head_dim, bound);
      }
    }
  }
  return bounds;
}

TEST_P(AttentionTest, OfAMixedBatchOverScatteredBlocksAgrees) {
  const auto& [backend, kv_type] = GetParam();
  struct Heads {
    uint32_t head_dim, n_heads, n_kv_heads;
  };
  // One, four and eight queries per key, for each class of widths in the kernels, with full and smaller width.
  constexpr Heads kShapes[] = {{32, 3, 3},  {64, 8, 2},  {64, 8, 1},  {80, 8, 1},  {128, 3, 3}, {96, 8, 2},
                               {128, 8, 1}, {256, 3, 3}, {256, 8, 2}, {160, 8, 1}, {320, 8, 2}};
  uint32_t n = 0;
  for (const auto& [head_dim, n_heads, n_kv_heads] : kShapes) {
    const uint32_t variant = n++ % 4;  // in turn
    if (head_dim % kv_traits(kv_type).block_elems != 0) continue;
    const AttentionCase c{.head_dim = head_dim,
                          .n_heads = n_heads,
                          .n_kv_heads = n_kv_heads,
                          .window = variant % 2 == 0 ? 0u : 33u,
                          .softcap = variant < 2 ? 0.0f : 3.0f,
                          .kv_type = kv_type,
                          .has_sinks = n % 2 == 0,
                          .is_chunked = variant % 2 == 1 && n % 5 < 2,
                          .has_slopes = n % 3 == 0 && head_dim <= 256};
    AttentionRig reference(make_reference_backend(), c), rig(*backend.make(2), c);
    const auto expected = mixed_attention(reference);
    const auto bounds = attention_bounds(c, reference, backend.plain_prefill);
    EXPECT_TRUE(within(mixed_attention(rig), expected, bounds, n_heads * head_dim))
        << "head_dim " << head_dim << ", " << n_heads << '/' << n_kv_heads << " heads, window " << c.window
        << ", softcap " << c.softcap << (c.has_sinks ? ", sinks" : "") << (c.is_chunked ? ", chunked" : "")
        << (c.has_slopes ? ", slopes" : "");
  }
}

// Contexts of one piece, of some pieces, and of so many positions that they are divided into parts.
TEST_P(AttentionTest, OfRowsThatSeeThoseAfterThemAgrees) {
  const auto& [backend, kv_type] = GetParam();
  const std::vector<Chunk> batch = {{0, 0, 1}, {2, 0, 70}, {1, 563, 77}};
  for (const uint32_t window : {0u, 1u, 20u, 300u}) {
    const AttentionCase c{.head_dim = 64,
                          .n_heads = 4,
                          .n_kv_heads = window == 0 ? 4u : 2u,
                          .window = window,
                          .kv_type = kv_type,
                          .has_slopes = window != 20,
                          .is_bidirectional = true};
    AttentionRig reference(make_reference_backend(), c), rig(*backend.make(2), c);
    const auto attended = [&batch](AttentionRig& of) {
      of.store_history(1, 563);
      return of.attend(batch, 0);
    };
    const auto expected = attended(reference);
    const auto bounds = attention_bounds(c, reference, backend.plain_prefill, batch);
    EXPECT_TRUE(within(attended(rig), expected, bounds, c.n_heads * c.head_dim)) << "window " << window;
  }
}

TEST_P(AttentionTest, AHeadThatIsNoWholeNumberOfBlocksIsRefused) {
  const auto& [backend, kv_type] = GetParam();
  const Status status = (*backend.make(1))->create_kv_cache(KvLayout{1, 1, 80, 16, 4, kv_type});
  ASSERT_EQ(status.ok(), kv_traits(kv_type).block_elems == 1);
  if (!status.ok()) {
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, AttentionTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(kKvTypes)),
                         [](const auto& test) {
                           return suite_name(std::get<0>(test.param), kv_traits(std::get<1>(test.param)).id);
                         });

class RopeTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

struct RopeCase {
  uint32_t head_dim, n_rot;  // 0: no rotation
  bool has_norms;
  float rope_scale;
  bool norms_last = false, has_kv = true;
  float clip = 0, temperature = 0;
};

constexpr uint32_t kHeads = 3, kKvHeads = 2, kRopeRows = 9;
constexpr uint32_t kBlockTokens = 16;
constexpr float kRopeEps = 1e-6f;

struct RopeData {
  InputTable q, k, v;
  std::vector<float> inv_freq, q_norm, k_norm;
};

RopeData rope_data(const RopeCase& c) {
  RopeData data{extreme_inputs(kRopeRows, kHeads * c.head_dim, 1),
                extreme_inputs(kRopeRows, kKvHeads * c.head_dim, 2),
                random_inputs(kRopeRows, kKvHeads * c.head_dim, 3),
                {},
                random_values(c.head_dim, 4),
                random_values(c.head_dim, 5)};
  // Different weights would hide the error of a pair that is rotated before.
  if (c.norms_last) data.q_norm = data.k_norm = std::vector<float>(c.head_dim, 1.25f);
  for (uint32_t i = 0; i < c.n_rot / 2; ++i) {
    data.inv_freq.push_back(static_cast<float>(std::pow(10000.0, -2.0 * i / c.n_rot)));
  }
  return data;
}

struct Rotated {
  std::vector<float> q, k, stored_values;
};

Rotated rotated(std::unique_ptr<Backend> backend, const RopeData& data, const RopeCase& c) {
  OpRig rig(std::move(backend), {.max_rows = kRopeRows, .max_logit_rows = 1, .max_seqs = 7, .max_context = 131072});
  EXPECT_TRUE(rig.backend().create_kv_cache(KvLayout{1, kKvHeads, c.head_dim, kBlockTokens, 7, KvType::kF32}).ok());
  for (uint32_t i = 0; i < 7; ++i) rig.backend().zero_block(BlockId{i});
  TestBatch batch = rows_of(std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}, 6);
  batch.positions = {0, 1, 3, 77, 4095, 131071, 1000, 1001, 1002};
  std::vector<std::vector<BlockId>> tables;
  for (uint32_t i = 0; i < 7; ++i) tables.emplace_back(131072 / kBlockTokens, BlockId{i});
  for (uint32_t i = 0; i < 7; ++i) batch.seqs.push_back({i, i < 6 ? 1u : 3u, batch.positions[i], tables[i]});
  const ActId q = rig.input(data.q), k = rig.input(data.k), v = rig.input(data.v);
  const RopeStoreOp op{.q = q,
                       .k = c.has_kv ? k : kNoAct,
                       .v = c.has_kv ? v : kNoAct,
                       .layer = 0,
                       .n_heads = kHeads,
                       .n_kv_heads = c.has_kv ? kKvHeads : 0,
                       .head_dim = c.head_dim,
                       .inv_freq = c.n_rot > 0 ? rig.vector(data.inv_freq) : kNoWeight,
                       .n_rot = c.n_rot,
                       .rope_scale = c.rope_scale,
                       .q_norm = c.has_norms ? rig.vector(data.q_norm) : kNoWeight,
                       .k_norm = c.has_norms ? rig.vector(data.k_norm) : kNoWeight,
                       .norm_eps = kRopeEps,
                       .norms_last = c.norms_last,
                       .clip = c.clip,
                       .temperature = {c.temperature, 1001, 500}};
  rig.step(batch, {q, k, v}, [&](Program& p) { p.add(op); });
  Rotated result{rig.read(q), rig.read(k), {}};
  for (uint32_t i = 0; i < 7; ++i) {
    std::vector<float> keys(size_t{kBlockTokens} * kKvHeads * c.head_dim), values(keys.size());
    rig.backend().read_kv(0, BlockId{i}, keys, values);
    result.stored_values.insert(result.stored_values.end(), values.begin(), values.end());
  }
  return result;
}

// A rotation preserves a pair's length, so each element was at most sqrt(2) of the sum of the two results; the norm's
// mean square is a sum over the head, whose root halves the error; sine, cosine and the rotation round a few times, and
// so do the logarithm of a temperature and its product.
std::vector<double> rope_bounds(const std::vector<float>& expected, const RopeCase& c) {
  const double relative = (c.has_norms ? kSigmas * sum_sigma(c.head_dim) / 2 + 4 * kUnit : 0) + 4 * kUnit +
                          (c.temperature > 0 ? 8 * kUnit : 0);
  // A norm after the rotation also enlarges rounding errors below the normal numbers.
  const double denormal = kDenormal * (c.norms_last ? 1.25 / std::sqrt(kRopeEps) : 1);
  std::vector<double> bounds;
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t at = i % c.head_dim, half = c.n_rot / 2;
    const double own = std::fabs(expected[i]);
    if (at >= c.n_rot) {
      bounds.push_back(c.has_norms || c.temperature > 0 ? relative * own + denormal : 0);
    } else {
      const double other = std::fabs(expected[at < half ? i + half : i - half]);
      bounds.push_back(relative * std::sqrt(2.0) * (own + other) + 2 * denormal);
    }
  }
  return bounds;
}

TEST_P(RopeTest, TurnsAndNormsHeadsOfOddSizesAtFarPositions) {
  for (const RopeCase& c : {RopeCase{32, 32, false, 1.0f},
                            {80, 32, false, 1.0f},
                            {10, 10, true, 1.0f},
                            {96, 48, true, 1.19f},
                            {50, 0, true, 1.0f},
                            {64, 0, false, 1.0f},
                            {64, 32, true, 1.0f, true},
                            {32, 32, false, 1.0f, false, false},
                            {80, 32, true, 1.0f, false, true, 0.75f},
                            {64, 32, false, 1.0f, false, true, 0, 0.3f}}) {
    const RopeData data = rope_data(c);
    const Rotated expected = rotated(make_reference_backend(), data, c), actual = rotated(*GetParam().make(2), data, c);
    EXPECT_TRUE(within(actual.q, expected.q, rope_bounds(expected.q, c), kHeads * c.head_dim)) << "q " << c.head_dim;
    RopeCase of_keys = c;
    of_keys.temperature = 0;
    EXPECT_TRUE(within(actual.k, expected.k, rope_bounds(expected.k, of_keys), kKvHeads * c.head_dim))
        << "k " << c.head_dim;
    EXPECT_EQ(actual.stored_values, expected.stored_values) << "v";
    const bool stores = std::ranges::any_of(actual.stored_values, [](float x) { return x != 0; });
    EXPECT_EQ(stores, c.has_kv);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, RopeTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
