// Matrix products of every weight type on every backend, against the reference.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/reference/reference_backend.h"
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

// Rows that fill no whole panel; the fewest columns that the type allows, and enough to cross every tile.
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
    rig.step(rows_of(tokens, n_decode), {op.in}, [&](Backend& b) { b.linear(op); });
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

INSTANTIATE_TEST_SUITE_P(Operations, LinearTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(weight_types())),
                         [](const auto& test) { return suite_name(std::get<0>(test.param), std::get<1>(test.param)); });

}  // namespace
}  // namespace realizar::test
