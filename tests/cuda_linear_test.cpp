// Matrix products of the CUDA backend, at the sizes where its kernels change: each row against the reference, within
// the error of its arithmetic, and against itself, bit for bit, in every batch and order of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <string>

#include "backend/reference/reference_backend.h"
#include "quant/half.h"
#include "quant/type_table.h"
#include "quant/types.h"
#include "support/cuda_emulator.h"
#include "support/cuda_test.h"
#include "support/error_model.h"
#include "support/op_rig.h"

namespace realizar::test {
namespace {

using cuda::emulator::ThreadOrder;

constexpr uint32_t kTokens = 130;
constexpr BackendLimits kLimits{.max_rows = kTokens, .max_logit_rows = 1};

struct Counts {
  uint32_t n_decode, n_prompt;
};

// `n` tokens, different ones for every `first`.
std::vector<uint32_t> some_tokens(uint32_t n, uint32_t first) {
  std::vector<uint32_t> tokens;
  for (uint32_t i = 0; i < n; ++i) tokens.push_back((first + 7 * i) % kTokens);
  return tokens;
}

TestBatch batch_of(Counts counts) {
  const uint32_t n = counts.n_decode + counts.n_prompt;
  return rows_of(some_tokens(n, n == kTokens ? 0 : counts.n_decode), counts.n_decode);
}

struct Product {
  Product(std::unique_ptr<Backend> backend, const TestMatrix& m, const InputTable& inputs)
      : rig(std::move(backend), kLimits),
        op{.out = rig.output(m.n_rows), .in = rig.input(inputs), .weight = rig.matrix(m)} {}
  std::vector<float> run(const TestBatch& batch) {
    rig.step(batch, {op.in}, [&](Program& p) { p.add(op); });
    return rig.read(op.out);
  }

  OpRig rig;
  LinearOp op;
};

// Group types multiply int8 activations; F16, bf16 and F8 multiply them as sums of two such values; the rest is F32.
Arithmetic arithmetic_of(TypeId type) {
  if (layout_of(type) == Layout::kGroups) return Arithmetic::kInt8;
  if (layout_of(type) == Layout::kStored) return Arithmetic::kF32;
  return type == TypeId::kF32 ? Arithmetic::kF32 : Arithmetic::kSplitBf16;
}

// Remembers the bits of each row.
class RowMemory {
 public:
  // The row's bits when it was first seen.
  const std::vector<float>& first(uint32_t token, bool is_decode, std::span<const float> row) {
    return rows_.try_emplace({token, is_decode}, row.begin(), row.end()).first->second;
  }
  bool has(uint32_t token, bool is_decode) const { return rows_.contains({token, is_decode}); }

 private:
  std::map<std::pair<uint32_t, bool>, std::vector<float>> rows_;
};

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class CudaLinear : public CudaTestOf<TypeId> {
 protected:
  void TearDown() override { cuda::emulator::set_thread_order(ThreadOrder::kRising); }

  // An odd number of groups or blocks, and for plain types of columns; not a multiple of any step of a kernel.
  TestMatrix matrix(uint32_t n_rows, bool is_wide = false) const {
    const uint32_t block = traits(value()).block_elems;
    const uint32_t n_cols = block == 1 ? 75 : block == 32 ? 160 : block;
    return random_matrix(value(), 1, n_rows, is_wide ? 1024 + n_cols : n_cols, 1);
  }
};

TEST_P(CudaLinear, RowsAreTheReferencesAndTheSameInEveryBatch) {
  const TestMatrix m = matrix(19);
  const InputTable inputs = extreme_inputs(kTokens, m.n_cols, 2);
  const std::vector<float> exact = Product(make_reference_backend(), m, inputs).run(batch_of({0, kTokens}));
  RowMemory exact_rows, seen;
  for (uint32_t i = 0; i < kTokens; ++i) {
    exact_rows.first(7 * i % kTokens, false, std::span(exact).subspan(size_t{i} * m.n_rows, m.n_rows));
  }
  Product product(backend(), m, inputs);
  for (const Counts counts : {Counts{0, kTokens}, {65, 65}, {1, 3}, {3, 1}, {4, 5}, {16, 17}, {17, 16}, {63, 64}}) {
    const TestBatch batch = batch_of(counts);
    const std::vector<float> rows = product.run(batch);
    for (uint32_t i = 0; i < batch.tokens.size(); ++i) {
      const auto token = static_cast<uint32_t>(batch.tokens[i]);
      const bool is_decode = i < counts.n_decode;
      const auto row = std::span(rows).subspan(size_t{i} * m.n_rows, m.n_rows);
      EXPECT_TRUE(same_bits(row, seen.first(token, is_decode, row)))
          << "token " << token << ", row " << i << " of " << counts.n_decode << " and " << counts.n_prompt;
    }
  }
  for (uint32_t token = 0; token < kTokens; ++token) {
    for (const bool is_decode : {false, true}) {
      if (!seen.has(token, is_decode)) continue;
      std::vector<double> bounds;
      for (uint32_t r = 0; r < m.n_rows; ++r) {
        bounds.push_back(kSigmas * product_sigma(m, 0, r, inputs.row(token), arithmetic_of(m.type)));
      }
      EXPECT_TRUE(within(seen.first(token, is_decode, {}), exact_rows.first(token, false, {}), bounds, m.n_rows))
          << "token " << token << (is_decode ? ", decode" : ", prompt");
    }
  }
}

// Decode sums run in chunks of 1024 columns.
TEST_P(CudaLinear, DecodeRowsOfManyColumnsAreTheSameInEveryBatch) {
  const TestMatrix m = matrix(19, true);
  const InputTable inputs = extreme_inputs(kTokens, m.n_cols, 2);
  Product product(backend(), m, inputs);
  RowMemory seen;
  for (const uint32_t n : {33u, 9u, 1u}) {
    const TestBatch batch = rows_of(some_tokens(n, 0), n);
    const std::vector<float> rows = product.run(batch);
    for (uint32_t i = 0; i < n; ++i) {
      const auto token = static_cast<uint32_t>(batch.tokens[i]);
      const auto row = std::span(rows).subspan(size_t{i} * m.n_rows, m.n_rows);
      EXPECT_TRUE(same_bits(row, seen.first(token, true, row))) << "token " << token << " of " << n;
    }
  }
}

TEST_P(CudaLinear, IsTheSameInEveryOrderOfThreads) {
  if (!cuda().is_emulated) GTEST_SKIP() << "a GPU takes the order that it likes";
  // More than a tile of columns, of a type of each kernel.
  const bool is_tall = value() == TypeId::kF16 || value() == TypeId::kQ4_K;
  const TestMatrix m = matrix(is_tall ? 133 : 19);
  const InputTable inputs = random_inputs(kTokens, m.n_cols, 2);
  Product product(backend(), m, inputs);
  const TestBatch batch = batch_of({6, 9}), alone = batch_of({1, 0});
  const auto rising = product.run(batch), rising_alone = product.run(alone);
  for (const ThreadOrder order : {ThreadOrder::kFalling, ThreadOrder::kShuffled}) {
    cuda::emulator::set_thread_order(order);
    EXPECT_TRUE(same_bits(product.run(batch), rising));
    EXPECT_TRUE(same_bits(product.run(alone), rising_alone));
  }
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kNormalCdf:
      return std::erfc(-x / std::numbers::sqrt2) / 2;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kXielu:
    case Activation::kClampedSwiglu:
      break;  // of two rows, which no linear operation has
  }
  return 0;
}

struct EpilogueCase {
  Epilogue epilogue = {};
  bool accumulate = false;
};

// Each token's row before the change, changed.
std::vector<float> changed(Product& product, const LinearOp& op, const TestBatch& batch) {
  product.rig.step(batch, {op.in, op.out}, [&](Program& p) { p.add(op); });
  return product.rig.read(op.out);
}

// The product's bits are known, so only the epilogue's own roundings remain: F32 functions with an error of a few
// units.
TEST_P(CudaLinear, EpiloguesChangeTheProductAsTheySay) {
  const TestMatrix m = matrix(19);
  const InputTable inputs = random_inputs(kTokens, m.n_cols, 2), before = random_inputs(kTokens, m.n_rows, 3);
  const std::vector<float> bias = random_values(m.n_rows, 4);
  Product product(backend(), m, inputs);
  LinearOp op = product.op;
  op.out = product.rig.input(before);
  op.bias = product.rig.vector(bias);
  const TestBatch batch = batch_of({6, 5});
  const std::vector<float> plain = product.run(batch);
  const EpilogueCase epilogues[] = {
      {.epilogue = {.activation = Activation::kSilu, .scale = 0.25f}},
      {.epilogue = {.activation = Activation::kGelu}, .accumulate = true},
      {.epilogue = {.activation = Activation::kGeluErf, .softcap = 3}},
      {.epilogue = {.activation = Activation::kReluSquared}, .accumulate = true},
      {.epilogue = {.scale = 0.1f, .softcap = 2}, .accumulate = true},
      {.epilogue = {.activation = Activation::kSigmoid, .scale = 3}},
  };
  for (const EpilogueCase& e : epilogues) {
    const Epilogue& end = op.epilogue = e.epilogue;
    op.accumulate = e.accumulate;
    const std::vector<float> actual = changed(product, op, batch);
    for (size_t i = 0; i < actual.size(); ++i) {
      const size_t r = i % m.n_rows, token = static_cast<size_t>(batch.tokens[i / m.n_rows]);
      double y = activated(end.activation, plain[i] + bias[r]) * end.scale;
      if (end.softcap > 0) y = end.softcap * std::tanh(y / end.softcap);
      const double added = e.accumulate ? before.values[token * m.n_rows + r] : 0;
      const double size = std::fabs(y) + std::fabs(added) + std::fabs(plain[i]) + 1;
      EXPECT_NEAR(actual[i], y + added, 1e-6 * (end.activation == Activation::kReluSquared ? size * size : size)) << i;
    }
  }
}

TEST_P(CudaLinear, AGateIsActivatedAndMultiplied) {
  const TestMatrix gate = matrix(19), up = random_matrix(gate.type, 1, 19, gate.n_cols, 5);
  const InputTable inputs = random_inputs(kTokens, gate.n_cols, 2);
  Product product(backend(), gate, inputs), other(backend(), up, inputs);
  const TestBatch batch = batch_of({6, 5});
  const std::vector<float> gates = product.run(batch), ups = other.run(batch);
  const GatedLinearOp op{product.op.out, product.op.in, product.op.weight, product.rig.matrix(up), Activation::kSilu};
  product.rig.step(batch, {op.in}, [&](Program& p) { p.add(op); });
  const std::vector<float> actual = product.rig.read(op.out);
  for (size_t i = 0; i < actual.size(); ++i) {
    const double expected = activated(Activation::kSilu, gates[i]) * ups[i];
    EXPECT_NEAR(actual[i], expected, 1e-6 * std::fabs(expected)) << i;
  }
}

// A dot and a tile decode E4M3 differently: each of the 254 numbers must be equal in both, and correct.
class CudaF8 : public CudaTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CudaF8, testing::ValuesIn(cudas_under_test()), name_of);

TEST_P(CudaF8, EveryCodeIsTheSameToDecodeRowsAndPrompts) {
  constexpr uint32_t kCodes = 256, kCols = 32;
  TestMatrix m = random_matrix(TypeId::kF8_E4M3, 1, kCodes, kCols, 1);
  InputTable inputs{kTokens, kCols, std::vector<float>(size_t{kTokens} * kCols)};
  std::ranges::fill(m.bytes, std::byte{0});
  m.scales.clear();
  for (uint32_t code = 0; code < kCodes; ++code) {
    if ((code & 0x7f) != 0x7f) m.bytes[size_t{code} * kCols + code % kCols] = std::byte(code);
  }
  for (float& x : inputs.values) x = 1;
  Product product(backend(), m, inputs);
  const std::vector<float> rows = product.run(batch_of({1, 1}));
  for (uint32_t code = 0; code < kCodes; ++code) {
    const float expected = (code & 0x7f) == 0x7f ? 0.0f : f8_e4m3_to_float(static_cast<uint8_t>(code));
    EXPECT_EQ(rows[code], expected) << code;
    EXPECT_EQ(rows[kCodes + code], expected) << code;
  }
}

// Four experts, one without rows and one with more rows than a tile.
InputTable expert_ids() {
  InputTable ids{kTokens, 2, std::vector<float>(size_t{2} * kTokens)};
  for (uint32_t token = 0; token < kTokens; ++token) {
    ids.row(token)[0] = token % 3 == 0 ? 0.0f : 2.0f;
    ids.row(token)[1] = token % 5 == 0 ? 0.0f : 3.0f;
  }
  return ids;
}

class CudaExperts : public CudaTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CudaExperts, testing::ValuesIn(cudas_under_test()), name_of);

TEST_P(CudaExperts, ARowIsTheSameInEveryBatchAndOrderOfThreads) {
  constexpr uint32_t kModel = 64, kHidden = 96;
  OpRig rig(backend(), kLimits);
  const ActId out = rig.input(random_inputs(kTokens, kModel, 1)), in = rig.input(random_inputs(kTokens, kModel, 2));
  const ActId weights = rig.input(random_inputs(kTokens, 2, 3)), ids = rig.input(expert_ids());
  const ExpertsOp op{.out = out,
                     .in = in,
                     .weights = weights,
                     .ids = ids,
                     .gate = rig.matrix(random_matrix(TypeId::kQ4_0, 4, kHidden, kModel, 4)),
                     .up = rig.matrix(random_matrix(TypeId::kQ8_0, 4, kHidden, kModel, 5)),
                     .down = rig.matrix(random_matrix(TypeId::kQ5_1, 4, kModel, kHidden, 6)),
                     .n_used = 2,
                     .d_ff = kHidden};
  RowMemory seen;
  for (const ThreadOrder order : {ThreadOrder::kRising, ThreadOrder::kFalling, ThreadOrder::kShuffled}) {
    cuda::emulator::set_thread_order(order);
    for (const Counts counts : {Counts{0, kTokens}, {3, 70}, {5, 0}}) {
      const TestBatch batch = batch_of(counts);
      rig.step(batch, {out, in, weights, ids}, [&](Program& p) { p.add(op); });
      const std::vector<float> rows = rig.read(out);
      for (uint32_t i = 0; i < batch.tokens.size(); ++i) {
        const auto row = std::span(rows).subspan(size_t{i} * kModel, kModel);
        const auto token = static_cast<uint32_t>(batch.tokens[i]);
        EXPECT_TRUE(same_bits(row, seen.first(token, i < counts.n_decode, row)))
            << "token " << token << ", row " << i << " of " << counts.n_decode << " and " << counts.n_prompt;
      }
    }
  }
  cuda::emulator::set_thread_order(ThreadOrder::kRising);
}

// The contents of `outs` after the operations of encode(program, between): with nothing in between, and with an
// unrelated operation.
template <class Encode>
void expect_same_apart(OpRig& rig, ActId in, uint32_t n_cols, std::span<const ActId> outs, const Encode& encode) {
  const ActId other = rig.output(n_cols);
  for (const Counts counts : {Counts{1, 0}, {3, 0}, {0, 5}, {2, 66}}) {
    const TestBatch batch = batch_of(counts);
    rig.step(batch, {in}, [&](Program& p) { encode(p, [] {}); });
    std::vector<std::vector<float>> together;
    for (const ActId out : outs) together.push_back(rig.read(out));
    rig.step(batch, {in}, [&](Program& p) { encode(p, [&] { p.add(NormOp{.out = other, .in = in, .eps = 1}); }); });
    for (size_t i = 0; i < outs.size(); ++i) {
      EXPECT_TRUE(same_bits(rig.read(outs[i]), together[i]))
          << "output " << i << " of " << counts.n_decode << " and " << counts.n_prompt;
    }
  }
}

TEST_P(CudaLinear, ProductsOfOneInputAreTheSameInOneLaunch) {
  OpRig rig(backend(), kLimits);
  const TestMatrix q = matrix(150), k = matrix(19), v = matrix(40);
  const ActId in = rig.input(random_inputs(kTokens, q.n_cols, 2));
  const ActId outs[] = {rig.output(q.n_rows), rig.output(k.n_rows), rig.output(v.n_rows)};
  std::vector<LinearOp> ops;
  for (const TestMatrix* m : {&q, &k, &v}) {
    ops.push_back({.out = outs[ops.size()],
                   .in = in,
                   .weight = rig.matrix(*m),
                   .bias = rig.vector(random_values(m->n_rows, m->n_rows))});
  }
  expect_same_apart(rig, in, q.n_cols, outs, [&](Program& p, const auto& between) {
    for (const LinearOp& op : ops) {
      p.add(op);
      between();
    }
  });
}

TEST_P(CudaLinear, AGatedPairIsTheSameInOneLaunch) {
  OpRig rig(backend(), kLimits);
  constexpr uint32_t kHidden = 256;
  const TestMatrix gate = random_matrix(value(), 1, kHidden, kHidden, 1);
  const TestMatrix up = random_matrix(value(), 1, kHidden, kHidden, 2);
  const TestMatrix down = random_matrix(value(), 1, 19, kHidden, 3);
  const ActId in = rig.input(random_inputs(kTokens, kHidden, 4)), hidden = rig.output(kHidden);
  const ActId outs[] = {rig.output(down.n_rows)};
  const GatedLinearOp gated{hidden, in, rig.matrix(gate), rig.matrix(up), Activation::kSilu};
  const LinearOp product{.out = outs[0], .in = hidden, .weight = rig.matrix(down)};
  expect_same_apart(rig, in, kHidden, outs, [&](Program& p, const auto& between) {
    p.add(gated);
    between();
    p.add(product);
  });
}

std::vector<TypeId> all_type_ids() {
  std::vector<TypeId> types;
  for (const TypeTraits& type : all_types()) types.push_back(type.id);
  return types;
}

INSTANTIATE_TEST_SUITE_P(Types, CudaLinear,
                         testing::Combine(testing::ValuesIn(cudas_under_test()), testing::ValuesIn(all_type_ids())),
                         [](const auto& test) {
                           const std::string type(traits(std::get<1>(test.param)).name);
                           return std::string(std::get<0>(test.param).name) + "_" + type;
                         });

}  // namespace
}  // namespace realizar::test
