// The operations of recurrent layers on every backend that has them, against the reference: the same results however a
// sequence is divided into steps, whichever slots its state passes through, and whatever else is in a step.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "backend/reference/reference_backend.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

constexpr uint32_t kStateRows = 37;

struct ScanShape {
  uint32_t n_heads, head_dim, n_groups, d_state;
  bool has_gate, is_decay_of_each;
};

struct DeltaShape {
  uint32_t n_heads, n_key_heads, key_dim, value_dim;
  bool is_decay_of_each, key_heads_in_turn;
};

struct WkvShape {
  uint32_t n_heads, head_dim;
  bool mixes_v;
};

// Includes layers without states, so that the tested layer is not the first.
CacheLayout layout_of(std::vector<size_t> part_bytes) {
  CacheLayout layout;
  layout.layers = {Paged{1, 32, 32}, Recurrent{{100}}, Recurrent{std::move(part_bytes)}};
  layout.n_blocks = 1;
  layout.n_states = 4;
  return layout;
}

// The division of a sequence's rows into steps: chunks, and the slot that each is written to.
struct Cut {
  std::vector<uint32_t> chunks;
  bool is_in_place, has_neighbour;
};
const Cut kCuts[] = {{{kStateRows}, true, false},
                     {{1, 1, 35}, true, false},
                     {{10, 1, 2, 3, 21}, false, false},
                     {{16, 16, 5}, false, true},
                     {{30, 7}, true, true}};

class StatesOpTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
  // The output of a sequence whose rows are the tokens 0, 1, 2, ...; its neighbour has them in reverse.
  std::vector<float> run(OpRig& rig, std::initializer_list<ActId> inputs, const std::vector<Op>& ops, ActId out,
                         uint32_t n_cols, const Cut& cut) {
    std::vector<float> all;
    uint32_t pos = 0, slot = 0;
    for (const uint32_t n : cut.chunks) {
      const uint32_t to = cut.is_in_place ? 0 : (slot + 1) % 3, n_before = cut.has_neighbour ? 5 : 0;
      std::vector<uint32_t> tokens;
      for (uint32_t i = 0; i < n_before; ++i) tokens.push_back(kStateRows - 1 - i);
      for (uint32_t i = 0; i < n; ++i) tokens.push_back(pos + i);
      TestBatch batch = rows_of(tokens, 0);
      for (uint32_t i = 0; i < tokens.size(); ++i) {
        batch.positions[i] = static_cast<Pos>(i < n_before ? i : pos + i - n_before);
      }
      if (n_before > 0) batch.seqs.push_back({0, n_before, Pos{0}, {}, StateId{3}, StateId{3}});
      batch.seqs.push_back({n_before, n, static_cast<Pos>(pos), {}, StateId{slot}, StateId{to}});
      rig.step(batch, inputs, [&](Program& p) {
        for (const Op& op : ops) p.add(op);
      });
      const auto rows = rig.read(out);
      all.insert(all.end(), rows.begin() + static_cast<std::ptrdiff_t>(size_t{n_before} * n_cols), rows.end());
      pos += n;
      slot = to;
    }
    return all;
  }

  std::vector<float> convolved(std::unique_ptr<Backend> backend, uint32_t n_cols, uint32_t n_taps, bool has_bias,
                               const Cut& cut) {
    OpRig rig(std::move(backend), {.max_rows = 64, .max_logit_rows = 1, .max_seqs = 2, .max_context = 64});
    ShortConvOp op{.out = rig.output(n_cols),
                   .in = rig.input(random_inputs(kStateRows, n_cols, 3)),
                   .layer = 2,
                   .part = 0,
                   .n_taps = n_taps,
                   .weight = rig.vector(random_values(size_t{n_cols} * n_taps, 5)),
                   .activation = has_bias ? Activation::kSilu : Activation::kNone};
    if (has_bias) op.bias = rig.vector(random_values(n_cols, 6));
    EXPECT_TRUE(rig.backend().create_kv_cache(layout_of({sizeof(float) * n_cols * (n_taps - 1)})).ok());
    return run(rig, {op.in}, {op}, op.out, n_cols, cut);
  }

  std::vector<float> scanned(std::unique_ptr<Backend> backend, const ScanShape& s, const Cut& cut) {
    OpRig rig(std::move(backend), {.max_rows = 64, .max_logit_rows = 1, .max_seqs = 2, .max_context = 64});
    const uint32_t n_inner = s.n_heads * s.head_dim, n_group_cols = s.n_groups * s.d_state;
    const ActId xbc = rig.input(random_inputs(kStateRows, n_inner + 2 * n_group_cols, 7));
    const ActId dt = rig.input(random_inputs(kStateRows, s.n_heads, 8)),
                gate = rig.input(random_inputs(kStateRows, n_inner, 9));
    const uint32_t a_cols = s.is_decay_of_each ? s.d_state : 1;
    std::vector<float> a = random_values(size_t{s.n_heads} * a_cols, 10);
    for (float& value : a) value = -std::fabs(value) - 0.01f;
    const StateScanOp op{.out = rig.output(n_inner),
                         .x = xbc,
                         .b = xbc,
                         .c = xbc,
                         .dt = dt,
                         .gate = s.has_gate ? gate : kNoAct,
                         .b_col = n_inner,
                         .c_col = n_inner + n_group_cols,
                         .layer = 2,
                         .part = 1,
                         .n_heads = s.n_heads,
                         .head_dim = s.head_dim,
                         .n_groups = s.n_groups,
                         .d_state = s.d_state,
                         .a_cols = a_cols,
                         .a = rig.vector(a),
                         .d = rig.vector(random_values(s.n_heads, 11)),
                         .dt_bias = rig.vector(random_values(s.n_heads, 12))};
    EXPECT_TRUE(rig.backend().create_kv_cache(layout_of({8, sizeof(float) * n_inner * s.d_state})).ok());
    return run(rig, {xbc, dt, gate}, {op}, op.out, n_inner, cut);
  }

  // Keys and queries of length 1, as in models: states stay as large as values.
  std::vector<float> learnt(std::unique_ptr<Backend> backend, const DeltaShape& s, const Cut& cut) {
    OpRig rig(std::move(backend), {.max_rows = 64, .max_logit_rows = 1, .max_seqs = 2, .max_context = 64});
    const uint32_t n_keys = s.n_key_heads * s.key_dim, n_values = s.n_heads * s.value_dim;
    const uint32_t decay_cols = s.is_decay_of_each ? s.key_dim : 1;
    InputTable keys = random_inputs(kStateRows, 2 * n_keys, 21);
    for (size_t at = 0; at < keys.values.size(); at += s.key_dim) {
      double power = 0;
      for (uint32_t j = 0; j < s.key_dim; ++j) power += keys.values[at + j] * keys.values[at + j];
      for (uint32_t j = 0; j < s.key_dim; ++j) keys.values[at + j] /= static_cast<float>(std::sqrt(power));
    }
    const ActId qk = rig.input(keys), v = rig.input(random_inputs(kStateRows, 3 + n_values, 22));
    const ActId decay = rig.input(random_inputs(kStateRows, s.n_heads * decay_cols, 23)),
                beta = rig.input(random_inputs(kStateRows, s.n_heads, 24));
    std::vector<float> a = random_values(s.n_heads, 25);
    for (float& value : a) value = -0.1f * std::fabs(value) - 0.01f;
    const DeltaRuleOp op{.out = rig.output(n_values),
                         .q = qk,
                         .k = qk,
                         .v = v,
                         .decay = decay,
                         .beta = beta,
                         .k_col = n_keys,
                         .v_col = 3,
                         .layer = 2,
                         .part = 1,
                         .n_heads = s.n_heads,
                         .n_key_heads = s.n_key_heads,
                         .key_dim = s.key_dim,
                         .value_dim = s.value_dim,
                         .decay_cols = decay_cols,
                         .key_heads_in_turn = s.key_heads_in_turn,
                         .a = rig.vector(a),
                         .decay_bias = rig.vector(random_values(size_t{s.n_heads} * decay_cols, 26))};
    EXPECT_TRUE(rig.backend().create_kv_cache(layout_of({8, sizeof(float) * n_values * s.key_dim})).ok());
    return run(rig, {qk, v, decay, beta}, {op}, op.out, n_values, cut);
  }

  // Two mixes of the same rows, the first of which keeps none: their sum.
  std::vector<float> mixed_twice(std::unique_ptr<Backend> backend, const Cut& cut) {
    constexpr uint32_t kCols = 70;
    OpRig rig(std::move(backend), {.max_rows = 64, .max_logit_rows = 1, .max_seqs = 2, .max_context = 64});
    ShortConvOp first{.out = rig.output(kCols),
                      .in = rig.input(random_inputs(kStateRows, kCols, 3)),
                      .layer = 2,
                      .part = 0,
                      .n_taps = 2,
                      .weight = rig.vector(random_values(size_t{kCols} * 2, 5)),
                      .keeps_rows = false};
    ShortConvOp second = first;
    second.out = rig.output(kCols);
    second.weight = rig.vector(random_values(size_t{kCols} * 2, 6));
    second.keeps_rows = true;
    const GateOp product{.out = second.out, .in = second.out, .gate = first.out, .is_factor = true};
    EXPECT_TRUE(rig.backend().create_kv_cache(layout_of({sizeof(float) * kCols})).ok());
    return run(rig, {first.in}, {first, second, product}, second.out, kCols, cut);
  }

  // `is_bonus`: the addition to the state's output instead of that output.
  std::vector<float> time_mixed(std::unique_ptr<Backend> backend, const WkvShape& s, bool is_bonus, const Cut& cut) {
    OpRig rig(std::move(backend), {.max_rows = 64, .max_logit_rows = 1, .max_seqs = 2, .max_context = 64});
    const uint32_t n = s.n_heads * s.head_dim;
    const auto input = [&](uint32_t seed) { return rig.input(random_inputs(kStateRows, n, seed)); };
    const auto factors = [&](uint32_t seed) { return rig.vector(random_values(n, seed)); };
    WkvOp op{.out = rig.output(n),
             .bonus = rig.output(n),
             .r = input(31),
             .decay = input(32),
             .k = input(33),
             .v = input(34),
             .rate = input(35),
             .removal = rig.output(n),
             .layer = 2,
             .part = 1,
             .n_heads = s.n_heads,
             .head_dim = s.head_dim,
             .removal_scale = factors(36),
             .rate_scale = factors(37),
             .bonus_scale = factors(38)};
    const ActId first_v = input(39), v_share = input(40);
    if (s.mixes_v) op.first_v = first_v, op.v_share = v_share;
    EXPECT_TRUE(rig.backend().create_kv_cache(layout_of({8, sizeof(float) * n * s.head_dim})).ok());
    return run(rig, {op.r, op.decay, op.k, op.v, op.rate, first_v, v_share}, {op}, is_bonus ? op.bonus : op.out, n,
               cut);
  }

  static void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, double bound) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], bound) << "at " << i;
  }
  // Compares bytes, for every division and number of threads.
  void expect_same_bits(const std::function<std::vector<float>(std::unique_ptr<Backend>, const Cut&)>& compute) {
    const auto expected = compute(*GetParam().make(1), kCuts[0]);
    for (uint32_t n_threads = 1; n_threads <= GetParam().max_threads; ++n_threads) {
      for (const Cut& cut : kCuts) {
        const auto actual = compute(*GetParam().make(n_threads), cut);
        ASSERT_EQ(actual.size(), expected.size());
        EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0)
            << cut.chunks.size() << " chunks, " << n_threads << " threads";
      }
    }
  }
};

// Inputs and weights are below 1: each of the n_taps + 1 terms is rounded twice at most, at sums of that size.
TEST_P(StatesOpTest, AShortConvolutionLooksBackOverSteps) {
  for (const uint32_t n_taps : {2u, 4u}) {
    for (const bool has_bias : {false, true}) {
      const auto expected = convolved(make_reference_backend(), 150, n_taps, has_bias, kCuts[0]);
      const auto actual = convolved(*GetParam().make(2), 150, n_taps, has_bias, kCuts[2]);
      expect_close(actual, expected, 2 * (n_taps + 1) * (n_taps + 1) * kUnit + 2 * kExpError);
      expect_same_bits([&](std::unique_ptr<Backend> backend, const Cut& cut) {
        return convolved(std::move(backend), 150, n_taps, has_bias, cut);
      });
    }
  }
}

// A state is the sum of kStateRows products of three numbers below 2, and an output the sum of d_state states, each
// rounded a few times a row.
TEST_P(StatesOpTest, AScanOfStatesGoesOnFromStepToStep) {
  for (const ScanShape& shape : {ScanShape{4, 8, 2, 16, true, false},
                                 {3, 5, 1, 7, false, false},
                                 {6, 1, 1, 16, true, true},
                                 {2, 7, 1, 100, false, false},
                                 {3, 2, 1, 85, false, true},
                                 {2, 64, 1, 128, true, false}}) {
    const auto expected = scanned(make_reference_backend(), shape, kCuts[0]);
    const auto actual = scanned(*GetParam().make(2), shape, kCuts[2]);
    double largest = 0;
    for (const float y : expected) largest = std::max(largest, std::fabs(double{y}));
    expect_close(actual, expected,
                 (largest + std::sqrt(shape.d_state)) * (kStateRows * kExpError + 8 * kStateRows * kUnit));
    expect_same_bits(
        [&](std::unique_ptr<Backend> backend, const Cut& cut) { return scanned(std::move(backend), shape, cut); });
  }
}

// A row's error is the rounding of two sums over key_dim and of its decay's exponential, and stays in the state for as
// long as the rows' decays and keys let it.
TEST_P(StatesOpTest, ADeltaRuleGoesOnFromStepToStep) {
  for (const DeltaShape& shape : {DeltaShape{4, 2, 16, 32, false, false},
                                  {4, 2, 16, 32, false, true},
                                  {3, 3, 7, 5, false, false},
                                  {2, 1, 128, 20, false, false},
                                  {2, 2, 200, 5, true, false},
                                  {6, 3, 10, 70, true, false}}) {
    const auto expected = learnt(make_reference_backend(), shape, kCuts[0]);
    const auto actual = learnt(*GetParam().make(2), shape, kCuts[2]);
    double largest = 0;
    for (const float y : expected) largest = std::max(largest, std::fabs(double{y}));
    ASSERT_GT(largest, 0.1);
    expect_close(actual, expected, (largest + 1) * kStateRows * (kExpError + std::sqrt(shape.key_dim) * kUnit));
    expect_same_bits(
        [&](std::unique_ptr<Backend> backend, const Cut& cut) { return learnt(std::move(backend), shape, cut); });
  }
}

// Two taps each of values below 1, and a product.
TEST_P(StatesOpTest, ConvolutionsOfTheSameRowsLeaveThemToTheLastOne) {
  const auto expected = mixed_twice(make_reference_backend(), kCuts[0]);
  expect_close(mixed_twice(*GetParam().make(2), kCuts[2]), expected, 32 * kUnit);
  expect_same_bits(
      [&](std::unique_ptr<Backend> backend, const Cut& cut) { return mixed_twice(std::move(backend), cut); });
}

// Errors like a delta rule's; a removal key has length 1, so that a row removes no more from a state than is in it.
TEST_P(StatesOpTest, ATimeMixGoesOnFromStepToStep) {
  for (const WkvShape& shape : {WkvShape{4, 16, true}, {3, 7, false}, {2, 64, true}, {1, 70, false}, {2, 200, true}}) {
    for (const bool is_bonus : {false, true}) {
      const auto expected = time_mixed(make_reference_backend(), shape, is_bonus, kCuts[0]);
      const auto actual = time_mixed(*GetParam().make(2), shape, is_bonus, kCuts[2]);
      double largest = 0;
      for (const float y : expected) largest = std::max(largest, std::fabs(double{y}));
      ASSERT_GT(largest, 0.1);
      expect_close(actual, expected, (largest + 1) * kStateRows * (kExpError + std::sqrt(shape.head_dim) * kUnit));
      expect_same_bits([&](std::unique_ptr<Backend> backend, const Cut& cut) {
        return time_mixed(std::move(backend), shape, is_bonus, cut);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, StatesOpTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
