// Matrix products of every weight type on every backend, against the reference.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/reference/reference_backend.h"
#include "quant/type_table.h"
#include "quant/types.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

constexpr uint32_t kMaxTokens = 65;

class LinearTest : public testing::TestWithParam<std::tuple<BackendUnderTest, TypeId>> {
 protected:
  void SetUp() override { skip_where_absent(backend()); }
  const BackendUnderTest& backend() const { return std::get<0>(GetParam()); }
  TypeId type() const { return std::get<1>(GetParam()); }
};

struct Shape {
  uint32_t n_rows, n_cols;
};

// Rows that do not fill a whole panel; the fewest columns that the type allows, and enough to cross every tile.
std::vector<Shape> odd_shapes(TypeId type) {
  const uint32_t block = traits(type).block_elems;
  if (block == 1) return {{37, 1}, {5, 33}, {33, 275}};
  if (block == 32) return {{37, 32}, {5, 96}, {33, 544}};
  return {{37, block}, {17, 3 * block}};
}

struct LinearRig {
  LinearRig(std::unique_ptr<Backend> backend, const TestMatrix& m, const std::vector<float>& bias,
            const InputTable& inputs)
      : rig(std::move(backend), {.max_rows = kMaxTokens, .max_logit_rows = 1}),
        op{.out = rig.output(m.n_rows), .in = rig.input(inputs), .weight = rig.matrix(m), .bias = rig.vector(bias)} {}

  std::vector<float> run(std::span<const uint32_t> tokens, uint32_t n_decode) {
    rig.step(rows_of(tokens, n_decode), {op.in}, [&](Program& p) { p.add(op); });
    return rig.read(op.out);
  }

  OpRig rig;
  LinearOp op;
};

TEST_P(LinearTest, StaysWithinItsArithmeticOfTheReference) {
  for (const Shape shape : odd_shapes(type())) {
    const TestMatrix m = random_matrix(type(), 1, shape.n_rows, shape.n_cols, 1);
    const auto bias = random_values(shape.n_rows, 2);
    const InputTable inputs = extreme_inputs(kMaxTokens, shape.n_cols, 3);
    std::vector<uint32_t> all(kMaxTokens);
    std::iota(all.begin(), all.end(), 0);
    const auto exact = LinearRig(make_reference_backend(), m, bias, inputs).run(all, 0);
    LinearRig linear(*backend().make(2), m, bias, inputs);
    for (const uint32_t n_tokens : {1u, 2u, 3u, 7u, 17u, 65u}) {
      for (const uint32_t n_decode : {0u, n_tokens / 2, n_tokens}) {
        std::vector<uint32_t> tokens;
        std::vector<float> expected;
        std::vector<double> bounds;
        for (uint32_t i = 0; i < n_tokens; ++i) {
          const uint32_t token = (i + n_tokens) % kMaxTokens;
          const Arithmetic arithmetic = backend().arithmetic(type(), i < n_decode);
          tokens.push_back(token);
          for (uint32_t r = 0; r < m.n_rows; ++r) {
            expected.push_back(exact[token * m.n_rows + r]);
            // The sum, then one rounding of the bias added.
            bounds.push_back(kSigmas * product_sigma(m, 0, r, inputs.row(token), arithmetic) +
                             kUnit * (std::fabs(expected.back()) + std::fabs(bias[r])));
          }
        }
        EXPECT_TRUE(within(linear.run(tokens, n_decode), expected, bounds, m.n_rows))
            << m.n_rows << " x " << m.n_cols << ", " << n_tokens << " tokens, " << n_decode << " decode";
      }
    }
  }
}

struct GatedData {
  TestMatrix gate, up;
  InputTable inputs;
};

constexpr uint32_t kGatedTokens = 13, kGatedDecode = 5;

std::vector<uint32_t> gated_tokens() {
  std::vector<uint32_t> tokens(kGatedTokens);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

std::vector<float> gated(std::unique_ptr<Backend> backend, const GatedData& data, Activation activation) {
  OpRig rig(std::move(backend), {.max_rows = kGatedTokens, .max_logit_rows = 1});
  const GatedLinearOp op{rig.output(data.gate.n_rows), rig.input(data.inputs), rig.matrix(data.gate),
                         rig.matrix(data.up), activation};
  rig.step(rows_of(gated_tokens(), kGatedDecode), {op.in}, [&](Program& p) { p.add(op); });
  return rig.read(op.out);
}

// The product of two products, each with its error: |activation(g)| du + da |u| + da du, and its own rounding.
std::vector<double> gated_bounds(const GatedData& data, Activation activation, const BackendUnderTest& backend) {
  const std::vector<float> zeros(data.gate.n_rows);
  const auto g = LinearRig(make_reference_backend(), data.gate, zeros, data.inputs).run(gated_tokens(), 0);
  const auto u = LinearRig(make_reference_backend(), data.up, zeros, data.inputs).run(gated_tokens(), 0);
  std::vector<double> bounds;
  for (uint32_t token = 0; token < kGatedTokens; ++token) {
    const bool is_decode = token < kGatedDecode;
    const float* x = data.inputs.row(token);
    for (uint32_t r = 0; r < data.gate.n_rows; ++r) {
      const double gate = g[bounds.size()], up = std::fabs(u[bounds.size()]);
      const double gate_error =
          kSigmas * product_sigma(data.gate, 0, r, x, backend.arithmetic(data.gate.type, is_decode));
      const double up_error = kSigmas * product_sigma(data.up, 0, r, x, backend.arithmetic(data.up.type, is_decode));
      const double activated_error = activation_error(activation, gate, gate_error);
      const double activated = activation_size(activation, gate);
      bounds.push_back(activated * up_error + activated_error * (up + up_error) + 2 * kUnit * activated * up +
                       kDenormal);
    }
  }
  return bounds;
}

TEST_P(LinearTest, GatedPairsAgreeThoughTheirTypesDiffer) {
  const uint32_t block = traits(type()).block_elems, n_cols = block <= 32 ? 96 : block < 256 ? 3 * block : block;
  const Activation activations[] = {Activation::kSilu, Activation::kGelu, Activation::kReluSquared};
  for (const TypeId up : {type(), TypeId::kF32, TypeId::kQ8_0}) {
    const GatedData data{random_matrix(type(), 1, 37, n_cols, 1), random_matrix(up, 1, 37, n_cols, 2),
                         extreme_inputs(kGatedTokens, n_cols, 3)};
    for (const Activation activation : activations) {
      const auto expected = gated(make_reference_backend(), data, activation);
      EXPECT_TRUE(
          within(gated(*backend().make(2), data, activation), expected, gated_bounds(data, activation, backend()), 37))
          << "up is " << traits(up).name << ", activation " << static_cast<int>(activation);
    }
  }
}

// Blocks run along the stored rows, which would become columns.
TEST_P(LinearTest, ATransposedMatrixOfBlocksIsRefusedByName) {
  const bool is_taken = layout_of(type()) == Layout::kPlain && type() != TypeId::kF8_E4M3;
  const TestMatrix m = random_matrix(type(), 1, 256, 512, 1);
  MatrixSource source = m.source();
  std::swap(source.n_rows, source.n_cols);
  source.transposed = true;
  std::unique_ptr<Backend> backends[] = {std::move(*backend().make(1)), make_reference_backend()};
  for (const auto& backend : backends) {
    ASSERT_TRUE(backend->configure({.max_rows = 1, .max_logit_rows = 1}).ok());
    const auto loaded = backend->load_matrix(source);
    ASSERT_EQ(loaded.ok(), is_taken) << backend->info().name;
    if (is_taken) continue;
    EXPECT_EQ(loaded.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(loaded.error().message, "a transposed matrix of type " + std::string(traits(type()).name));
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, LinearTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(weight_types())),
                         [](const auto& test) { return suite_name(std::get<0>(test.param), std::get<1>(test.param)); });

class EpilogueTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

struct EpilogueCase {
  Epilogue epilogue = {};
  bool accumulate = false;
};

struct EpilogueData {
  TestMatrix matrix;
  std::vector<float> bias;
  InputTable inputs, before;
};

constexpr uint32_t kEpilogueTokens = 9;

// Results of all rows, or of every other row as logit rows.
std::vector<float> finished(std::unique_ptr<Backend> backend, const EpilogueData& data, const EpilogueCase& e,
                            Rows rows) {
  OpRig rig(std::move(backend), {.max_rows = kEpilogueTokens, .max_logit_rows = kEpilogueTokens});
  const ActId in = rig.input(data.inputs), before = rig.input(data.before);
  const ActId selected_in = rig.output(data.inputs.n_cols, Rows::kLogits);
  const ActId selected_out = rig.output(data.before.n_cols, Rows::kLogits);
  TestBatch batch = rows_of(std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}, 3);
  batch.logit_rows = {0, 2, 4, 6, 8};
  LinearOp op{.out = before,
              .in = in,
              .weight = rig.matrix(data.matrix),
              .bias = rig.vector(data.bias),
              .epilogue = e.epilogue,
              .accumulate = e.accumulate,
              .rows = rows};
  rig.step(batch, {in, before}, [&](Program& p) {
    if (rows == Rows::kLogits) {
      p.add(SelectRowsOp{selected_in, in});
      p.add(SelectRowsOp{selected_out, before});
      op.in = selected_in;
      op.out = selected_out;
    }
    p.add(op);
  });
  return rig.read(op.out);
}

// The product's error after the activation, the scale and the softcap (whose slope is at most 1), and their own.
std::vector<double> epilogue_bounds(const EpilogueData& data, const EpilogueCase& e, std::span<const float> expected) {
  const auto product = finished(make_reference_backend(), data, {}, Rows::kAll);
  const Epilogue& end = e.epilogue;
  std::vector<double> bounds;
  for (uint32_t token = 0; token < kEpilogueTokens; ++token) {
    for (uint32_t r = 0; r < data.matrix.n_rows; ++r) {
      const size_t at = bounds.size();
      const double y = product[at];
      const double y_error = kSigmas * product_sigma(data.matrix, 0, r, data.inputs.row(token), Arithmetic::kF32) +
                             kUnit * (std::fabs(y) + std::fabs(data.bias[r]));
      const double added = e.accumulate ? std::fabs(data.before.values[at]) : 0;
      bounds.push_back(std::fabs(end.scale) * activation_error(end.activation, y, y_error) + end.softcap * kTanhError +
                       4 * kUnit * (std::fabs(expected[at]) + added) + kDenormal);
    }
  }
  return bounds;
}

template <class T>
std::vector<T> every_other_row(const std::vector<T>& values, uint32_t n_cols) {
  std::vector<T> rows;
  for (size_t begin = 0; begin < values.size(); begin += 2 * n_cols) {
    rows.insert(rows.end(), values.begin() + static_cast<ptrdiff_t>(begin),
                values.begin() + static_cast<ptrdiff_t>(begin + n_cols));
  }
  return rows;
}

TEST_P(EpilogueTest, OfEveryKindAgreesOnAllRowsAndOnLogitRows) {
  constexpr uint32_t kOut = 37;
  const EpilogueData data{random_matrix(TypeId::kF32, 1, kOut, 33, 1), random_values(kOut, 2),
                          extreme_inputs(kEpilogueTokens, 33, 3), random_inputs(kEpilogueTokens, kOut, 4)};
  const EpilogueCase epilogues[] = {
      {},
      {.epilogue = {.activation = Activation::kSilu, .scale = 0.25f}},
      {.epilogue = {.activation = Activation::kGelu}, .accumulate = true},
      {.epilogue = {.activation = Activation::kGeluErf, .softcap = 3.0f}},
      {.epilogue = {.activation = Activation::kRelu, .scale = -2.0f}, .accumulate = true},
      {.epilogue = {.activation = Activation::kReluSquared}},
      {.epilogue = {.activation = Activation::kSigmoid}},
      {.epilogue = {.softcap = 30.0f}},
      {.epilogue = {.scale = 0.1f, .softcap = 2.0f}, .accumulate = true},
  };
  for (const EpilogueCase& e : epilogues) {
    const auto expected = finished(make_reference_backend(), data, e, Rows::kAll);
    const auto bounds = epilogue_bounds(data, e, expected);
    EXPECT_TRUE(within(finished(*GetParam().make(2), data, e, Rows::kAll), expected, bounds, kOut))
        << "epilogue " << &e - epilogues;
    EXPECT_TRUE(within(finished(*GetParam().make(2), data, e, Rows::kLogits), every_other_row(expected, kOut),
                       every_other_row(bounds, kOut), kOut))
        << "epilogue " << &e - epilogues << " of logit rows";
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, EpilogueTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
