// Operations on one row at a time (embedding, norms, activations, row selection) against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backend/reference/reference_backend.h"
#include "quant/types.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

class EmbedTest : public testing::TestWithParam<std::tuple<BackendUnderTest, TypeId>> {
 protected:
  void SetUp() override { skip_where_absent(std::get<0>(GetParam())); }
};

struct EmbedCase {
  float scale;
  bool has_positions;
  bool has_types = false;
};

constexpr uint32_t kIds = 19;

// Decoding a type's value takes a few roundings in any implementation; scaling it and adding the position round once
// each.
std::vector<double> embed_bounds(const TestMatrix& table, const TestMatrix& positions, const TestBatch& batch,
                                 const EmbedCase& c) {
  const bool is_exact = traits(table.type).block_elems == 1;
  const bool rounds = c.scale != 1.0f || c.has_positions || c.has_types;
  std::vector<double> bounds;
  for (size_t r = 0; r < batch.tokens.size(); ++r) {
    for (uint32_t i = 0; i < table.n_cols; ++i) {
      const auto id = static_cast<uint32_t>(to_index(batch.tokens[r]));
      const double from = table.size_row(0, id % kIds)[i];
      const double position = c.has_positions ? positions.size_row(0, static_cast<uint32_t>(batch.positions[r]))[i] : 0;
      const double type = c.has_types ? positions.size_row(0, id / kIds)[i] : 0;
      const double decoding = is_exact ? 0 : 2 * kUnit, arithmetic = rounds ? (c.has_types ? 3 : 2) * kUnit : 0;
      bounds.push_back((decoding + arithmetic) * (from * std::fabs(c.scale) + position + type));
    }
  }
  return bounds;
}

std::vector<float> embedded(std::unique_ptr<Backend> backend, const TestMatrix& table, const TestMatrix& positions,
                            const TestBatch& batch, const EmbedCase& c) {
  OpRig rig(std::move(backend), {.max_rows = 32, .max_logit_rows = 1});
  const ActId out = rig.output(table.n_cols);
  const EmbedOp op{.out = out,
                   .table = rig.matrix(table),
                   .position_table = c.has_positions ? rig.matrix(positions) : kNoWeight,
                   .type_table = c.has_types ? rig.matrix(positions) : kNoWeight,
                   .scale = c.scale};
  rig.step(batch, {}, [&](Program& p) { p.add(op); });
  return rig.read(out);
}

TEST_P(EmbedTest, GivesTheTokensRowScaledAndThoseOfItsTypeAndPositionAdded) {
  const auto& [backend, type] = GetParam();
  const uint32_t block = traits(type).block_elems;
  for (const uint32_t n_cols : {block == 1 ? 1u : block, block == 1 ? 300u : 3 * block}) {
    const TestMatrix table = random_matrix(type, 1, kIds, n_cols, 1), positions = random_matrix(type, 1, 40, n_cols, 2);
    TestBatch batch = rows_of(std::vector<uint32_t>{18, 0, 7, 7, 15, 16}, 2);
    batch.positions = {39, 0, 1, 16, 31, 2};
    for (const EmbedCase c :
         {EmbedCase{1.0f, false}, {-11.3f, false}, {1.0f, true}, {0.7f, true}, {0.7f, true, true}}) {
      if (c.has_types) batch.tokens[0] = batch.tokens[3] = TokenId{kIds + 4};
      const auto expected = embedded(make_reference_backend(), table, positions, batch, c);
      const auto actual = embedded(*backend.make(2), table, positions, batch, c);
      EXPECT_TRUE(within(actual, expected, embed_bounds(table, positions, batch, c), n_cols))
          << n_cols << " columns, scale " << c.scale << (c.has_positions ? ", positions" : "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, EmbedTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(weight_types())),
                         [](const auto& test) { return suite_name(std::get<0>(test.param), std::get<1>(test.param)); });

class RowTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

struct NormCase {
  NormKind kind;
  bool has_weight, has_bias, accumulate, in_place;
  uint32_t n_groups = 1;
  float scale = 1.0f;
};

constexpr NormCase kNormCases[] = {
    {NormKind::kRms, true, false, false, false},         {NormKind::kRms, false, false, false, true},
    {NormKind::kRms, true, false, true, false},          {NormKind::kRms, true, true, true, true},
    {NormKind::kLayer, true, true, false, false},        {NormKind::kLayer, false, false, false, false},
    {NormKind::kLayer, true, false, false, true},        {NormKind::kLayer, true, true, true, false},
    {NormKind::kRms, true, false, true, false, 1, 0.6f},
};
constexpr float kEps = 1e-5f;
constexpr uint32_t kNormRows = 9;

// Extreme rows, and two far from zero, on which a mean loses digits.
InputTable norm_inputs(uint32_t n_cols) {
  InputTable inputs = extreme_inputs(kNormRows, n_cols, 1);
  for (uint32_t i = 0; i < n_cols; ++i) {
    inputs.row(5)[i] += 100.0f;
    inputs.row(6)[i] = -1e4f;
  }
  return inputs;
}

struct NormData {
  InputTable inputs, before;
  std::vector<float> weight, bias;
};

std::vector<float> normed(std::unique_ptr<Backend> backend, const NormData& data, const NormCase& c) {
  OpRig rig(std::move(backend), {.max_rows = kNormRows, .max_logit_rows = 1});
  const ActId in = rig.input(data.inputs), out = c.in_place ? in : rig.input(data.before);
  const NormOp op{.out = out,
                  .in = in,
                  .weight = c.has_weight ? rig.vector(data.weight) : kNoWeight,
                  .bias = c.has_bias ? rig.vector(data.bias) : kNoWeight,
                  .kind = c.kind,
                  .eps = kEps,
                  .accumulate = c.accumulate,
                  .scale = c.scale,
                  .n_groups = c.n_groups};
  rig.step(rows_of(first_tokens(kNormRows), 3), {in, out}, [&](Program& p) { p.add(op); });
  return rig.read(out);
}

NormData columns_of(const NormData& data, uint32_t first, uint32_t n) {
  const auto part = [&](const std::vector<float>& values) {
    return std::vector<float>(values.begin() + first, values.begin() + first + n);
  };
  const auto cut = [&](const InputTable& table) {
    InputTable own = table;
    own.n_cols = n;
    own.values.clear();
    for (uint32_t r = 0; r < table.n_tokens; ++r) {
      const float* row = table.values.data() + size_t{r} * table.n_cols + first;
      own.values.insert(own.values.end(), row, row + n);
    }
    return own;
  };
  return {cut(data.inputs), cut(data.before), part(data.weight), part(data.bias)};
}

// The mean is a sum over the row, and its error affects every element; the root halves the relative error of the mean
// square; each element then takes a few roundings.
std::vector<double> norm_bounds(const NormData& data, const NormCase& c, std::span<const float> expected) {
  const uint32_t n = data.inputs.n_cols;
  const double sum_error = kSigmas * sum_sigma(n);
  std::vector<double> bounds;
  for (uint32_t r = 0; r < kNormRows; ++r) {
    const float* x = data.inputs.row(r);
    double mean = 0, magnitude = 0, power = 0;
    for (uint32_t i = 0; i < n; ++i) {
      mean += double{x[i]} / n;
      magnitude += std::fabs(double{x[i]}) / n;
    }
    if (c.kind == NormKind::kRms) mean = magnitude = 0;
    for (uint32_t i = 0; i < n; ++i) power += (x[i] - mean) * (x[i] - mean) / n;
    const double scale = 1 / std::sqrt(power + kEps), shift = sum_error * magnitude * scale;
    for (uint32_t i = 0; i < n; ++i) {
      const double relative = sum_error / 2 + 4 * kUnit + shift * shift;
      const double y = std::fabs(x[i] - mean) * scale, weight = c.has_weight ? std::fabs(data.weight[i]) : 1;
      const double bias = c.has_bias ? std::fabs(data.bias[i]) : 0;
      const double added = c.accumulate ? std::fabs(expected[bounds.size()]) / c.scale + weight * y : 0;
      bounds.push_back(weight * (y * relative + shift) + 2 * kUnit * (bias + added) + kDenormal);
    }
  }
  return bounds;
}

TEST_P(RowTest, NormsAgreeAtOddWidthsOnExtremeRowsInPlaceAndAdded) {
  for (const uint32_t n_cols : {1u, 15u, 16u, 33u, 257u}) {
    const NormData data{norm_inputs(n_cols), random_inputs(kNormRows, n_cols, 2), random_values(n_cols, 3),
                        random_values(n_cols, 4)};
    for (const NormCase& c : kNormCases) {
      const auto expected = normed(make_reference_backend(), data, c);
      EXPECT_TRUE(within(normed(*GetParam().make(2), data, c), expected, norm_bounds(data, c, expected), n_cols))
          << n_cols << " columns, " << (c.kind == NormKind::kRms ? "RMS" : "layer") << " norm, case "
          << &c - kNormCases;
    }
  }
}

// Each part of a row is a row by itself.
TEST_P(RowTest, NormsOfGroupsAreThoseOfTheirParts) {
  constexpr uint32_t kGroups = 3;
  for (const uint32_t n_cols : {1u, 16u, 33u}) {
    const uint32_t n_all = kGroups * n_cols;
    const NormData whole{norm_inputs(n_all), random_inputs(kNormRows, n_all, 2), random_values(n_all, 3),
                         random_values(n_all, 4)};
    for (NormCase c : kNormCases) {
      c.n_groups = kGroups;
      const auto actual = normed(*GetParam().make(2), whole, c);
      c.n_groups = 1;
      for (uint32_t g = 0; g < kGroups; ++g) {
        const NormData part = columns_of(whole, g * n_cols, n_cols);
        const auto expected = normed(make_reference_backend(), part, c);
        std::vector<float> own;
        for (uint32_t r = 0; r < kNormRows; ++r) {
          const auto first = actual.begin() + r * n_all + g * n_cols;
          own.insert(own.end(), first, first + n_cols);
        }
        EXPECT_TRUE(within(own, expected, norm_bounds(part, c, expected), n_cols))
            << n_cols << " columns, group " << g << ", case with weight " << c.has_weight;
      }
    }
  }
}

// An identity matrix passes each input unchanged to an activation.
std::vector<float> activated(std::unique_ptr<Backend> backend, const InputTable& inputs, Activation activation,
                             const Xielu& xielu = {}) {
  const uint32_t n = inputs.n_cols;
  std::vector<float> identity(size_t{n} * n);
  for (uint32_t i = 0; i < n; ++i) identity[size_t{i} * n + i] = 1.0f;
  const auto bytes = std::as_bytes(std::span(identity));
  OpRig rig(std::move(backend), {.max_rows = inputs.n_tokens, .max_logit_rows = 1});
  const ActId in = rig.input(inputs), out = rig.output(n);
  const WeightId weight = *rig.backend().load_matrix({"identity", TypeId::kF32, 1, n, n, {bytes}, {}, false});
  rig.step(rows_of(first_tokens(inputs.n_tokens), inputs.n_tokens / 2), {in}, [&](Program& p) {
    p.add(LinearOp{.out = out, .in = in, .weight = weight, .epilogue = {.activation = activation, .xielu = xielu}});
  });
  return rig.read(out);
}

TEST_P(RowTest, ActivationsStayWithinTheirStatedErrorsFromDenormalsToOverflow) {
  InputTable inputs = random_inputs(8, 33, 1);
  const float row_scales[] = {0x1p-130f, 1e-6f, 0.1f, 1.0f, 5.0f, 20.0f, 200.0f, 1e4f};
  for (uint32_t r = 0; r < inputs.n_tokens; ++r) {
    for (uint32_t i = 0; i < inputs.n_cols; ++i) inputs.row(r)[i] *= row_scales[r];
  }
  inputs.row(3)[0] = 0.0f;
  inputs.row(3)[1] = -0.0f;
  for (const Activation activation :
       {Activation::kNone, Activation::kSilu, Activation::kGelu, Activation::kGeluErf, Activation::kRelu,
        Activation::kReluSquared, Activation::kNormalCdf, Activation::kSigmoid}) {
    const auto expected = activated(make_reference_backend(), inputs, activation);
    std::vector<double> bounds;
    for (const float x : inputs.values) bounds.push_back(activation_error(activation, x, 0));
    EXPECT_TRUE(within(activated(*GetParam().make(2), inputs, activation), expected, bounds, inputs.n_cols))
        << "activation " << static_cast<int>(activation);
  }
}

// Two squares or an exponential, and a sum with its parts' roundings.
TEST_P(RowTest, XieluIsThatOfItsNumbers) {
  InputTable inputs = random_inputs(8, 33, 1);
  for (uint32_t r = 0; r < inputs.n_tokens; ++r) {
    for (uint32_t i = 0; i < inputs.n_cols; ++i) inputs.row(r)[i] *= std::exp2(static_cast<float>(r) - 4.0f);
  }
  for (const Xielu& xielu : {Xielu{0.8f, 1.3f, 0.5f, -1e-6f}, Xielu{1.1f, 0.2f, 0.7f, -0.5f}}) {
    const auto expected = activated(make_reference_backend(), inputs, Activation::kXielu, xielu);
    std::vector<double> bounds;
    for (const float x : inputs.values) {
      const double size = xielu.alpha_p * x * x + xielu.alpha_n * (1 + std::fabs(x)) + xielu.beta * std::fabs(x);
      bounds.push_back(size * (kExpError + 6 * kUnit));
    }
    EXPECT_TRUE(within(activated(*GetParam().make(2), inputs, Activation::kXielu, xielu), expected, bounds, 33));
  }
}

TEST_P(RowTest, SelectedRowsAreCopiesAndOperationsOnThemLeaveOthersAlone) {
  const InputTable inputs = extreme_inputs(11, 45, 1);
  OpRig rig(*GetParam().make(2), {.max_rows = 11, .max_logit_rows = 11});
  const ActId in = rig.input(inputs), out = rig.output(45, Rows::kLogits);
  for (const std::vector<uint32_t>& rows : {std::vector<uint32_t>{10}, {0, 3, 4, 10}, {}}) {
    TestBatch batch = rows_of(first_tokens(11), 4);
    batch.logit_rows = rows;
    rig.step(batch, {in}, [&](Program& p) { p.add(SelectRowsOp{.out = out, .in = in}); });
    const auto selected = rig.read(out);
    ASSERT_EQ(selected.size(), rows.size() * 45);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(std::memcmp(selected.data() + i * 45, inputs.row(rows[i]), 45 * sizeof(float)), 0) << rows[i];
    }
    const auto untouched = rig.read(in);
    EXPECT_EQ(std::memcmp(untouched.data(), inputs.values.data(), untouched.size() * sizeof(float)), 0);
  }
}

struct GateCase {
  uint32_t n_cols, n_gate_cols;
  bool accumulate, in_place;
  bool is_factor = false;
  uint32_t gate_col = 0;
};

struct GateData {
  InputTable inputs, before, gates;
};

std::vector<float> gated(std::unique_ptr<Backend> backend, const GateData& data, const GateCase& c) {
  OpRig rig(std::move(backend), {.max_rows = kNormRows, .max_logit_rows = 1});
  const ActId in = rig.input(data.inputs), out = c.in_place ? in : rig.input(data.before);
  const GateOp op{.out = out,
                  .in = in,
                  .gate = rig.input(data.gates),
                  .gate_col = c.gate_col,
                  .is_factor = c.is_factor,
                  .accumulate = c.accumulate};
  rig.step(rows_of(first_tokens(kNormRows), 3), {in, out, op.gate}, [&](Program& p) { p.add(op); });
  return rig.read(out);
}

TEST_P(RowTest, GatesARowOrEachColumn) {
  for (const GateCase c : {GateCase{33, 1, true, false},
                           {300, 1, false, true},
                           {1, 1, false, false},
                           {129, 129, true, false},
                           {64, 64, false, true},
                           {33, 33, false, true, true},
                           {33, 129, true, false, true, 65}}) {
    GateData data{random_inputs(kNormRows, c.n_cols, 1), random_inputs(kNormRows, c.n_cols, 2),
                  random_inputs(kNormRows, c.n_gate_cols, 3)};
    for (float& gate : data.gates.values) gate *= 20.0f;
    const auto expected = gated(make_reference_backend(), data, c);
    const auto& added = c.in_place ? data.inputs : data.before;
    std::vector<double> bounds;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double before = c.accumulate ? std::fabs(added.values[i]) : 0, y = std::fabs(expected[i]) + before;
      bounds.push_back(y * (kExpError + 6 * kUnit) + kDenormal);
    }
    EXPECT_TRUE(within(gated(*GetParam().make(2), data, c), expected, bounds, c.n_cols))
        << c.n_cols << " columns, " << c.n_gate_cols << " gates";
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, RowTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
