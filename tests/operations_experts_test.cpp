// Routing and mixtures of experts on every backend, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/reference/reference_backend.h"
#include "quant/types.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

class RouteTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

struct RouteCase {
  uint32_t n_experts, n_used;
  bool renormalize;
  float scale;
  RouteScore score = RouteScore::kSoftmax;
  bool has_bias = false;
  uint32_t n_groups = 1, n_used_groups = 1, n_group_best = 1;
  bool has_scales = false;
  float near_share = 0;
};

struct Routed {
  std::vector<float> ids, weights;
};

Routed routed(std::unique_ptr<Backend> backend, const InputTable& logits, const RouteCase& c) {
  OpRig rig(std::move(backend), {.max_rows = logits.n_tokens, .max_logit_rows = 1});
  const auto bias = random_inputs(1, c.n_experts, 2);
  std::vector<float> scales(c.n_experts);
  for (uint32_t e = 0; e < c.n_experts; ++e) scales[e] = 0.5f + static_cast<float>(e % 5) / 4;
  const RouteOp op{.logits = rig.input(logits),
                   .weights = rig.output(c.n_used),
                   .ids = rig.output(c.n_used),
                   .n_experts = c.n_experts,
                   .n_used = c.n_used,
                   .renormalize = c.renormalize,
                   .scale = c.scale,
                   .score = c.score,
                   .bias = c.has_bias ? rig.vector(bias.values) : kNoWeight,
                   .n_groups = c.n_groups,
                   .n_used_groups = c.n_used_groups,
                   .n_group_best = c.n_group_best,
                   .scales = c.has_scales ? rig.vector(scales) : kNoWeight,
                   .near_share = c.near_share};
  rig.step(rows_of(first_tokens(logits.n_tokens), 3), {op.logits}, [&](Program& p) { p.add(op); });
  return {rig.read(op.ids), rig.read(op.weights)};
}

// Clear choices, ties of all and of some, signed zeros, and logits whose exponentials underflow.
InputTable router_logits(uint32_t n_experts) {
  InputTable logits = random_inputs(8, n_experts, 1);
  for (uint32_t e = 0; e < n_experts; ++e) {
    logits.row(1)[e] = 0.5f;
    logits.row(2)[e] = std::round(2 * logits.row(2)[e]);
    logits.row(3)[e] = e % 2 == 0 ? -0.0f : 0.0f;
    logits.row(4)[e] *= 1e4f;
    logits.row(5)[e] *= 50.0f;
    logits.row(6)[e] *= 0x1p-130f;
    logits.row(7)[e] = -1e30f;
  }
  logits.row(7)[n_experts - 1] = 1e30f;
  return logits;
}

TEST_P(RouteTest, ChoosesTheSameExpertsWithTiesToTheLowestAndWeighsThemAlike) {
  for (const uint32_t n_experts : {5u, 8u, 33u, 128u}) {
    const InputTable logits = router_logits(n_experts);
    for (const uint32_t n_used : {1u, 2u, 5u, 8u}) {
      if (n_used > n_experts) continue;
      for (const bool renormalize : {false, true}) {
        const RouteCase c{n_experts, n_used, renormalize, n_used == 2 ? 2.5f : 1.0f};
        const Routed expected = routed(make_reference_backend(), logits, c),
                     actual = routed(*GetParam().make(2), logits, c);
        EXPECT_EQ(actual.ids, expected.ids) << n_used << " of " << n_experts;
        std::vector<double> bounds;  // a softmax: exponentials, their sum, the quotient
        for (const float w : expected.weights) {
          bounds.push_back((2 * kExpError + kSigmas * sum_sigma(n_experts)) * w + c.scale * std::exp(-87.0));
        }
        EXPECT_TRUE(within(actual.weights, expected.weights, bounds, n_used)) << n_used << " of " << n_experts;
      }
    }
  }
}

// Rows without ties, whose scores differ by more than F32 rounds them.
TEST_P(RouteTest, ChoosesByScoresBiasesAndGroupsAlike) {
  const RouteCase cases[] = {
      {8, 2, true, 2.5f, RouteScore::kSigmoid},
      {33, 5, false, 1.0f, RouteScore::kSigmoid},
      {32, 4, true, 1.0f, RouteScore::kSoftmax, true},
      {64, 6, true, 2.5f, RouteScore::kSigmoid, true},
      {64, 6, false, 16.0f, RouteScore::kSoftmax, false, 8, 3, 1},
      {512, 22, true, 5.0f, RouteScore::kSigmoid, true},
      {256, 8, true, 2.5f, RouteScore::kSigmoid, true, 8, 4, 2},
      {96, 4, true, 1.0f, RouteScore::kSigmoid, false, 32, 5, 2},
      {12, 3, true, 1.0f, RouteScore::kSigmoid, true, 12, 3, 2},
      {33, 5, true, 1.5f, RouteScore::kSoftmax, false, 1, 1, 1, true},
  };
  for (const RouteCase& c : cases) {
    InputTable logits = random_inputs(9, c.n_experts, 11);
    for (uint32_t e = 0; e < c.n_experts; ++e) logits.row(8)[e] = -60.0f - 0.01f * logits.row(8)[e];
    const Routed expected = routed(make_reference_backend(), logits, c),
                 actual = routed(*GetParam().make(2), logits, c);
    EXPECT_EQ(actual.ids, expected.ids) << c.n_used << " of " << c.n_experts << " in " << c.n_groups;
    std::vector<double> bounds;
    for (const float w : expected.weights) {
      bounds.push_back((4 * kExpError + kSigmas * sum_sigma(c.n_experts)) * w + c.scale * std::exp(-87.0));
    }
    EXPECT_TRUE(within(actual.weights, expected.weights, bounds, c.n_used)) << c.n_used << " of " << c.n_experts;
  }
}

RouteCase sparse_mixer(uint32_t n_experts, uint32_t n_used, float near_share) {
  return {.n_experts = n_experts,
          .n_used = n_used,
          .renormalize = false,
          .scale = 1.0f,
          .score = RouteScore::kSparseMixer,
          .near_share = near_share};
}

TEST_P(RouteTest, SparseMixerWeighsAmongTheNearThatAreLeft) {
  for (const uint32_t n_experts : {5u, 16u, 33u, 128u}) {
    const InputTable logits = router_logits(n_experts);
    for (const uint32_t n_used : {1u, 2u, 5u}) {
      for (const float near_share : {0.0f, 0.02f, 0.5f, 2.5f}) {
        const RouteCase c = sparse_mixer(n_experts, n_used, near_share);
        const Routed expected = routed(make_reference_backend(), logits, c),
                     actual = routed(*GetParam().make(2), logits, c);
        EXPECT_EQ(actual.ids, expected.ids) << n_used << " of " << n_experts;
        std::vector<double> bounds;
        for (const float w : expected.weights) bounds.push_back((2 * kExpError + kSigmas * sum_sigma(n_experts)) * w);
        EXPECT_TRUE(within(actual.weights, expected.weights, bounds, n_used)) << near_share << " of " << n_experts;
      }
    }
  }
}

// Two near logits, the second of which has no near ones; negative ones; and all of them 0.
TEST_P(RouteTest, SparseMixerGivesWhatItsFormulaSays) {
  const InputTable logits{3, 4, {1.5f, 2.0f, -1.0f, 1.99f, -3.0f, -1.01f, -1.0f, -1.5f, 0, 0, 0, 0}};
  const Routed actual = routed(*GetParam().make(1), logits, sparse_mixer(4, 2, 0.02f));
  EXPECT_EQ(actual.ids, (std::vector<float>{1, 3, 2, 1, 0, 1}));
  const float first = 1 / (1 + std::exp(-0.01f));
  const std::vector<float> expected{first, 1, first, 1, 0.25f, 1 / 3.0f};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual.weights[i], expected[i], 1e-6f) << i;
}

INSTANTIATE_TEST_SUITE_P(Operations, RouteTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

struct ExpertTypes {
  TypeId gate, up, down;
};

void PrintTo(const ExpertTypes& types, std::ostream* out) {
  *out << traits(types.gate).name << '_' << traits(types.up).name << '_' << traits(types.down).name;
}

class ExpertsTest : public testing::TestWithParam<std::tuple<BackendUnderTest, ExpertTypes>> {
 protected:
  void SetUp() override { skip_where_absent(std::get<0>(GetParam())); }
};

constexpr uint32_t kExperts = 9, kRows = 9, kDecodeRows = 4;

struct ExpertsData {
  TestMatrix gate, up, down;
  InputTable inputs, before, ids, weights;
  Activation activation;
  InputTable gate_bias = {}, up_bias = {}, down_bias = {};  // [1, n_experts * n]; empty: none
  bool weighs_input = false;

  double in_scale(uint32_t token, uint32_t k) const { return weighs_input ? weights.row(token)[k] : 1.0; }
  double out_scale(uint32_t token, uint32_t k) const { return weighs_input ? 1.0 : weights.row(token)[k]; }
};

float bias_of(const InputTable& biases, size_t at) {
  return biases.values.empty() ? 0.0f : biases.values[at];
}

// Rows 0 to 3 share all their experts, the others fewer with distance; with one expert per row, none.
InputTable expert_ids(uint32_t n_used) {
  InputTable ids{kRows, n_used, std::vector<float>(size_t{kRows} * n_used)};
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t k = 0; k < n_used; ++k) ids.row(r)[k] = static_cast<float>((r < 4 ? 8 - k : r + k) % kExperts);
  }
  return ids;
}

ExpertsData experts_data(const ExpertTypes& types, uint32_t n_used, Activation activation) {
  const uint32_t in_block = std::max(traits(types.gate).block_elems, traits(types.up).block_elems);
  const uint32_t down_block = traits(types.down).block_elems;
  const uint32_t d_model = in_block == 1 ? 33 : in_block == 32 ? 96 : in_block;
  const uint32_t d_ff = down_block == 1 ? 37 : down_block == 32 ? 160 : down_block;
  ExpertsData data{random_matrix(types.gate, kExperts, d_ff, d_model, 1),
                   random_matrix(types.up, kExperts, d_ff, d_model, 2),
                   random_matrix(types.down, kExperts, d_model, d_ff, 3),
                   extreme_inputs(kRows, d_model, 4),
                   random_inputs(kRows, d_model, 5),
                   expert_ids(n_used),
                   random_inputs(kRows, n_used, 6),
                   activation};
  return data;
}

// The part of all experts that a stack has.
struct Held {
  uint32_t first = 0, n = kExperts;
  bool has(float id) const { return id >= static_cast<float>(first) && id < static_cast<float>(first + n); }
};

std::vector<float> mixed(std::unique_ptr<Backend> backend, const ExpertsData& data, const Held& held = {}) {
  OpRig rig(std::move(backend), {.max_rows = kRows, .max_logit_rows = 1});
  const auto bias = [&](const InputTable& biases) {
    if (biases.values.empty()) return kNoWeight;
    const size_t n_each = biases.values.size() / kExperts;
    return rig.vector(std::span(biases.values).subspan(held.first * n_each, held.n * n_each));
  };
  const auto matrix = [&](const TestMatrix& whole) {
    MatrixSource source = whole.source();
    source.n_mats = held.n;
    if (held.n < kExperts) source.part = StoredPart{kExperts, whole.n_rows, whole.n_cols, held.first};
    return *rig.backend().load_matrix(source);
  };
  const ExpertsOp op{.out = rig.input(data.before),
                     .in = rig.input(data.inputs),
                     .weights = rig.input(data.weights),
                     .ids = rig.input(data.ids),
                     .gate = matrix(data.gate),
                     .up = matrix(data.up),
                     .down = matrix(data.down),
                     .gate_bias = bias(data.gate_bias),
                     .up_bias = bias(data.up_bias),
                     .down_bias = bias(data.down_bias),
                     .n_used = data.ids.n_cols,
                     .d_ff = data.gate.n_rows,
                     .activation = data.activation,
                     .weighs_input = data.weighs_input,
                     .first_expert = held.first};
  rig.step(rows_of(first_tokens(kRows), kDecodeRows), {op.out, op.in, op.weights, op.ids},
           [&](Program& p) { p.add(op); });
  return rig.read(op.out);
}

double dot(const float* a, const float* b, uint32_t n) {
  return std::inner_product(a, a + n, b, 0.0);
}

struct Hidden {
  std::vector<float> values;
  std::vector<double> sigmas;
};

// activation(gate . x) * (up . x) of one expert, and the error of each: see gated pairs.
Hidden hidden_of(const ExpertsData& data, uint32_t k, uint32_t token, const BackendUnderTest& backend) {
  const bool is_decode = token < kDecodeRows;
  const auto expert = static_cast<uint32_t>(data.ids.row(token)[k]);
  const double scale = data.in_scale(token, k), size = std::fabs(scale);
  const float* x = data.inputs.row(token);
  Hidden hidden;
  for (uint32_t j = 0; j < data.gate.n_rows; ++j) {
    const size_t at = size_t{expert} * data.gate.n_rows + j;
    double g = scale * dot(data.gate.row(expert, j), x, data.gate.n_cols) + bias_of(data.gate_bias, at);
    double u = std::fabs(scale * dot(data.up.row(expert, j), x, data.up.n_cols) + bias_of(data.up_bias, at));
    double g_sigma = size * product_sigma(data.gate, expert, j, x, backend.parts_arithmetic(data.gate.type, is_decode));
    double u_sigma = size * product_sigma(data.up, expert, j, x, backend.parts_arithmetic(data.up.type, is_decode));
    g_sigma += 2 * kUnit * std::fabs(g), u_sigma += 2 * kUnit * u;
    if (data.activation == Activation::kClampedSwiglu) u = std::min<double>(u, kSwigluLimit) + 1;
    const double a = activation_size(data.activation, g), a_sigma = activation_error(data.activation, g, g_sigma);
    hidden.values.push_back(static_cast<float>(a * u));
    hidden.sigmas.push_back(a * u_sigma + a_sigma * (u + kSigmas * u_sigma) + 2 * kUnit * a * u + kDenormal);
  }
  return hidden;
}

// The errors of hidden values are multiplied by `down`, which adds its own; experts' errors add up.
std::vector<double> experts_bounds(const ExpertsData& data, std::span<const float> expected,
                                   const BackendUnderTest& backend) {
  const uint32_t d_model = data.down.n_rows, d_ff = data.down.n_cols;
  std::vector<double> bounds;
  for (uint32_t token = 0; token < kRows; ++token) {
    std::vector<double> squares(d_model), sizes(d_model);
    for (uint32_t k = 0; k < data.ids.n_cols; ++k) {
      const auto expert = static_cast<uint32_t>(data.ids.row(token)[k]);
      const double weight = std::fabs(data.out_scale(token, k));
      const Hidden hidden = hidden_of(data, k, token, backend);
      const Arithmetic arithmetic = backend.parts_arithmetic(data.down.type, token < kDecodeRows);
      for (uint32_t i = 0; i < d_model; ++i) {
        double square = std::pow(product_sigma(data.down, expert, i, hidden.values.data(), arithmetic), 2);
        const float* w = data.down.row(expert, i);
        for (uint32_t j = 0; j < d_ff; ++j) square += std::pow(w[j] * hidden.sigmas[j], 2);
        squares[i] += weight * weight * square;
        const float bias = bias_of(data.down_bias, size_t{expert} * d_model + i);
        sizes[i] += weight * (std::fabs(dot(w, hidden.values.data(), d_ff)) + 2 * std::fabs(bias));
      }
    }
    for (uint32_t i = 0; i < d_model; ++i) {
      const size_t at = bounds.size();
      const double added = std::fabs(data.before.values[at]) + std::fabs(expected[at]) + sizes[i];
      bounds.push_back(kSigmas * std::sqrt(squares[i]) + (data.ids.n_cols + 1) * kUnit * added);
    }
  }
  return bounds;
}

TEST_P(ExpertsTest, AgreeWhetherRowsShareThemOrNot) {
  const auto& [backend, types] = GetParam();
  const Activation activations[] = {Activation::kSilu, Activation::kGelu, Activation::kGeluErf, Activation::kNormalCdf};
  uint32_t n = 0;
  for (const uint32_t n_used : {1u, 2u, 8u, 2u}) {
    const ExpertsData data = experts_data(types, n_used, activations[n++]);
    const auto expected = mixed(make_reference_backend(), data);
    EXPECT_TRUE(
        within(mixed(*backend.make(2), data), expected, experts_bounds(data, expected, backend), data.before.n_cols))
        << n_used << " experts a row";
  }
}

TEST_P(ExpertsTest, AgreeWithBiasesAClampedActivationAndWeighedInputs) {
  const auto& [backend, types] = GetParam();
  for (const bool weighs_input : {false, true}) {
    ExpertsData data = experts_data(types, 3, weighs_input ? Activation::kSilu : Activation::kClampedSwiglu);
    data.gate_bias = random_inputs(1, kExperts * data.gate.n_rows, 7);
    data.up_bias = random_inputs(1, kExperts * data.up.n_rows, 8);
    data.down_bias = random_inputs(1, kExperts * data.down.n_rows, 9);
    data.weighs_input = weighs_input;
    const auto expected = mixed(make_reference_backend(), data);
    EXPECT_TRUE(
        within(mixed(*backend.make(2), data), expected, experts_bounds(data, expected, backend), data.before.n_cols))
        << (weighs_input ? "weighed inputs" : "clamped");
  }
}

// Like experts with weights of zero.
TEST_P(ExpertsTest, AddNothingForThoseThatAStackDoesNotHold) {
  const auto& [backend, types] = GetParam();
  ExpertsData data = experts_data(types, 3, Activation::kSilu);
  data.gate_bias = random_inputs(1, kExperts * data.gate.n_rows, 7);
  data.up_bias = random_inputs(1, kExperts * data.up.n_rows, 8);
  data.down_bias = random_inputs(1, kExperts * data.down.n_rows, 9);
  for (const Held held : {Held{0, 4}, Held{4, 5}, Held{8, 1}}) {
    ExpertsData weighed = data;
    for (size_t i = 0; i < data.ids.values.size(); ++i) {
      if (!held.has(data.ids.values[i])) weighed.weights.values[i] = 0;
    }
    const auto expected = mixed(make_reference_backend(), weighed);
    EXPECT_TRUE(within(mixed(*backend.make(2), data, held), expected, experts_bounds(weighed, expected, backend),
                       data.before.n_cols))
        << held.n << " experts from " << held.first << " on";
  }
}

constexpr ExpertTypes kExpertTypes[] = {
    {TypeId::kF32, TypeId::kF32, TypeId::kF32},      {TypeId::kBF16, TypeId::kBF16, TypeId::kF16},
    {TypeId::kQ8_0, TypeId::kQ8_0, TypeId::kQ8_0},   {TypeId::kQ4_0, TypeId::kQ4_1, TypeId::kQ8_0},
    {TypeId::kQ4_K, TypeId::kQ4_K, TypeId::kQ6_K},   {TypeId::kMXFP4, TypeId::kMXFP4, TypeId::kMXFP4},
    {TypeId::kF32, TypeId::kQ8_0, TypeId::kIQ4_NL},  {TypeId::kQ5_0, TypeId::kF16, TypeId::kF32},
    {TypeId::kIQ3_S, TypeId::kIQ3_S, TypeId::kQ8_K}, {TypeId::kQ4_K, TypeId::kIQ2_XS, TypeId::kF16},
};

INSTANTIATE_TEST_SUITE_P(Operations, ExpertsTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(kExpertTypes)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  testing::PrintToString(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace realizar::test
