// A row's result as bytes: the same by itself, among others, at another index, in chunks, with one, two and three
// threads. Only a row's phase, decode or prefill, may change it, and not if a backend reports that the phases agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "backend/kv_types.h"
#include "support/attention_rig.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

constexpr uint32_t kTokens = 17;

struct RowLayout {
  std::vector<uint32_t> tokens;
  uint32_t n_decode;
};

// Returns [n rows, n_cols] for rows of tokens.
using Runner = std::function<std::vector<float>(const RowLayout&)>;
using MakeRunner = std::function<Runner(uint32_t n_threads)>;

bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// All tokens in decode, in prefill, and in both phases; in another order; and in two chunks.
std::vector<RowLayout> row_layouts() {
  std::vector<uint32_t> all(kTokens);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<uint32_t> reversed(all.rbegin(), all.rend());
  const std::vector<uint32_t> first(all.begin(), all.begin() + 7), rest(all.begin() + 7, all.end());
  return {{all, kTokens}, {all, 0},  {all, 5},   {all, 14},  {reversed, 6},
          {first, 0},     {rest, 0}, {first, 7}, {rest, 10}, {rest, 3}};
}

void expect_rows_to_stand_alone(const BackendUnderTest& backend, const MakeRunner& make) {
  const Runner alone = make(1);
  std::vector<std::vector<float>> decoded, prefilled;
  for (uint32_t token = 0; token < kTokens; ++token) {
    decoded.push_back(alone({{token}, 1}));
    prefilled.push_back(alone({{token}, 0}));
  }
  const bool decode_matches_prefill = (*backend.make(1))->info().decode_matches_prefill;
  for (uint32_t token = 0; decode_matches_prefill && token < kTokens; ++token) {
    EXPECT_TRUE(same_bytes(decoded[token], prefilled[token])) << "row " << token << " in both phases";
  }
  const size_t n_cols = decoded[0].size();
  for (uint32_t n_threads = 1; n_threads <= backend.max_threads; ++n_threads) {
    const Runner together = make(n_threads);
    for (const RowLayout& layout : row_layouts()) {
      const auto rows = together(layout);
      ASSERT_EQ(rows.size(), layout.tokens.size() * n_cols);
      for (size_t r = 0; r < layout.tokens.size(); ++r) {
        const auto& expected = (r < layout.n_decode ? decoded : prefilled)[layout.tokens[r]];
        EXPECT_TRUE(same_bytes({rows.data() + r * n_cols, n_cols}, expected))
            << "row " << r << " of " << layout.tokens.size() << ", " << layout.n_decode << " decode, " << n_threads
            << " threads";
      }
    }
  }
}

constexpr BackendLimits kLimits{.max_rows = kTokens, .max_logit_rows = kTokens};

class RowDeterminism : public testing::TestWithParam<std::tuple<BackendUnderTest, TypeId>> {
 protected:
  void SetUp() override { skip_where_absent(backend()); }
  const BackendUnderTest& backend() const { return std::get<0>(GetParam()); }
  TypeId type() const { return std::get<1>(GetParam()); }
  // Enough columns to cross every tile of columns.
  uint32_t n_cols() const {
    const uint32_t block = traits(type()).block_elems;
    return block == 1 ? 275 : block == 32 ? 544 : 3 * block;
  }
};

TEST_P(RowDeterminism, OfProducts) {
  const TestMatrix m = random_matrix(type(), 1, 37, n_cols(), 1);
  const InputTable inputs = extreme_inputs(kTokens, n_cols(), 2);
  expect_rows_to_stand_alone(backend(), [&](uint32_t n_threads) -> Runner {
    auto rig = std::make_shared<OpRig>(*backend().make(n_threads), kLimits);
    const LinearOp op{.out = rig->output(m.n_rows), .in = rig->input(inputs), .weight = rig->matrix(m)};
    return [=](const RowLayout& layout) {
      rig->step(rows_of(layout.tokens, layout.n_decode), {op.in}, [&](Program& p) { p.add(op); });
      return rig->read(op.out);
    };
  });
}

// Products like q, k and v: a backend may share work among products of one input, but not change their order.
TEST_P(RowDeterminism, OfSeveralProductsOfOneInput) {
  const TestMatrix wq = random_matrix(type(), 1, 37, n_cols(), 1), wk = random_matrix(type(), 1, 53, n_cols(), 2);
  const InputTable inputs = extreme_inputs(kTokens, n_cols(), 3);
  std::vector<uint32_t> tokens(kTokens);
  std::iota(tokens.begin(), tokens.end(), 0);
  const TestBatch batch = rows_of(tokens, 6);
  const auto run = [&](uint32_t n_threads, bool in_one_step) {
    OpRig rig(*backend().make(n_threads), kLimits);
    const ActId in = rig.input(inputs), q = rig.output(37), k = rig.output(53);
    const WeightId q_weight = rig.matrix(wq), k_weight = rig.matrix(wk);
    const LinearOp ops[] = {{.out = q, .in = in, .weight = q_weight},
                            {.out = k, .in = in, .weight = k_weight},
                            {.out = q, .in = in, .weight = q_weight, .epilogue = {.scale = 0.5f}, .accumulate = true},
                            {.out = k, .in = in, .weight = k_weight, .accumulate = true}};
    if (in_one_step) {
      rig.step(batch, {in}, [&](Program& p) {
        for (const LinearOp& op : ops) p.add(op);
      });
    } else {
      for (const LinearOp& op : ops) rig.step(batch, {in}, [&](Program& p) { p.add(op); });
    }
    auto values = rig.read(q);
    const auto more = rig.read(k);
    values.insert(values.end(), more.begin(), more.end());
    return values;
  };
  const auto apart = run(1, false);
  for (uint32_t n_threads = 1; n_threads <= backend().max_threads; ++n_threads) {
    EXPECT_TRUE(same_bytes(run(n_threads, true), apart)) << n_threads << " threads";
  }
}

// The head's rows are a selection.
TEST_P(RowDeterminism, OfLogitRows) {
  const TestMatrix m = random_matrix(type(), 1, 37, n_cols(), 1);
  const InputTable inputs = extreme_inputs(kTokens, n_cols(), 2);
  expect_rows_to_stand_alone(backend(), [&](uint32_t n_threads) -> Runner {
    auto rig = std::make_shared<OpRig>(*backend().make(n_threads), kLimits);
    const ActId in = rig->input(inputs), selected = rig->output(n_cols(), Rows::kLogits);
    const LinearOp op{
        .out = rig->output(m.n_rows, Rows::kLogits), .in = selected, .weight = rig->matrix(m), .rows = Rows::kLogits};
    return [=](const RowLayout& layout) {
      // Rows without logits are before and after each row with logits.
      std::vector<uint32_t> tokens{0};
      for (const uint32_t token : layout.tokens) tokens.insert(tokens.end(), {token, 0});
      std::vector<float> rows;
      for (size_t begin = 0; begin < layout.tokens.size(); begin += 8) {
        const size_t n = std::min<size_t>(8, layout.tokens.size() - begin);
        const size_t n_decode = std::clamp<size_t>(layout.n_decode, begin, begin + n) - begin;
        TestBatch batch = rows_of(std::span(tokens).subspan(2 * begin, 2 * n + 1), static_cast<uint32_t>(2 * n_decode));
        for (uint32_t i = 0; i < n; ++i) batch.logit_rows.push_back(2 * i + 1);
        rig->step(batch, {in}, [&](Program& p) {
          p.add(SelectRowsOp{selected, in});
          p.add(op);
        });
        const auto part = rig->read(op.out);
        rows.insert(rows.end(), part.begin(), part.end());
      }
      return rows;
    };
  });
}

TEST_P(RowDeterminism, OfLogitRowsOfPromptsAndOfDecodeRows) {
  const TestMatrix m = random_matrix(type(), 1, 37, n_cols(), 1);
  const InputTable inputs = extreme_inputs(kTokens, n_cols(), 2);
  OpRig rig(*backend().make(2), kLimits);
  const ActId in = rig.input(inputs), selected = rig.output(n_cols(), Rows::kLogits);
  const LinearOp op{
      .out = rig.output(m.n_rows, Rows::kLogits), .in = selected, .weight = rig.matrix(m), .rows = Rows::kLogits};
  const auto run = [&](uint32_t n_decode) {
    TestBatch batch = rows_of(first_tokens(9), n_decode);
    batch.logit_rows = {0, 3, 8};
    rig.step(batch, {in}, [&](Program& p) {
      p.add(SelectRowsOp{selected, in});
      p.add(op);
    });
    return rig.read(op.out);
  };
  EXPECT_TRUE(same_bytes(run(0), run(9)));
}

// A backend that prepares an input once for several products prepares it for each of their types.
TEST_P(RowDeterminism, OfProductsOfOneInputWhoseTypesDiffer) {
  const InputTable inputs = extreme_inputs(kTokens, n_cols(), 3);
  const TestBatch batch = rows_of(first_tokens(kTokens), 6);
  for (const TypeId other : {TypeId::kF32, TypeId::kQ8_0, TypeId::kQ4_K}) {
    if (n_cols() % traits(other).block_elems != 0) continue;
    const TestMatrix first = random_matrix(type(), 1, 37, n_cols(), 1),
                     second = random_matrix(other, 1, 37, n_cols(), 2);
    OpRig rig(*backend().make(2), kLimits);
    const ActId in = rig.input(inputs), outs[] = {rig.output(37), rig.output(37), rig.output(37)};
    const WeightId weights[] = {rig.matrix(first), rig.matrix(second)};
    const LinearOp ops[] = {{.out = outs[0], .in = in, .weight = weights[0]},
                            {.out = outs[1], .in = in, .weight = weights[1]},
                            {.out = outs[2], .in = in, .weight = weights[0]}};
    rig.step(batch, {in}, [&](Program& p) {
      for (const LinearOp& op : ops) p.add(op);
    });
    std::vector<std::vector<float>> together;
    for (const ActId out : outs) together.push_back(rig.read(out));
    for (uint32_t i = 0; i < 3; ++i) {
      rig.step(batch, {in}, [&](Program& p) { p.add(ops[i]); });
      EXPECT_TRUE(same_bytes(rig.read(outs[i]), together[i])) << "product " << i << " beside " << traits(other).name;
    }
  }
}

TEST_P(RowDeterminism, OfGatedPairs) {
  const TestMatrix gate = random_matrix(type(), 1, 37, n_cols(), 1), up = random_matrix(type(), 1, 37, n_cols(), 2);
  const InputTable inputs = extreme_inputs(kTokens, n_cols(), 3);
  expect_rows_to_stand_alone(backend(), [&](uint32_t n_threads) -> Runner {
    auto rig = std::make_shared<OpRig>(*backend().make(n_threads), kLimits);
    const GatedLinearOp op{rig->output(37), rig->input(inputs), rig->matrix(gate), rig->matrix(up)};
    return [=](const RowLayout& layout) {
      rig->step(rows_of(layout.tokens, layout.n_decode), {op.in}, [&](Program& p) { p.add(op); });
      return rig->read(op.out);
    };
  });
}

TEST_P(RowDeterminism, OfExperts) {
  constexpr uint32_t kExperts = 5, kUsed = 2;
  const uint32_t block = traits(type()).block_elems;
  const uint32_t d_model = block <= 32 ? 96 : block < 256 ? 3 * block : block, d_ff = d_model;
  const TestMatrix gate = random_matrix(type(), kExperts, d_ff, d_model, 1);
  const TestMatrix up = random_matrix(type(), kExperts, d_ff, d_model, 2);
  const TestMatrix down = random_matrix(type(), kExperts, d_model, d_ff, 3);
  const InputTable inputs = extreme_inputs(kTokens, d_model, 4), before = random_inputs(kTokens, d_model, 5);
  const InputTable weights = random_inputs(kTokens, kUsed, 6);
  InputTable ids{kTokens, kUsed, std::vector<float>(size_t{kTokens} * kUsed)};
  for (uint32_t t = 0; t < kTokens; ++t) {
    for (uint32_t k = 0; k < kUsed; ++k) ids.row(t)[k] = static_cast<float>((t + 2 * k) % kExperts);
  }
  expect_rows_to_stand_alone(backend(), [&](uint32_t n_threads) -> Runner {
    auto rig = std::make_shared<OpRig>(*backend().make(n_threads), kLimits);
    const ExpertsOp op{.out = rig->input(before),
                       .in = rig->input(inputs),
                       .weights = rig->input(weights),
                       .ids = rig->input(ids),
                       .gate = rig->matrix(gate),
                       .up = rig->matrix(up),
                       .down = rig->matrix(down),
                       .n_used = kUsed,
                       .d_ff = gate.n_rows};
    return [=](const RowLayout& layout) {
      rig->step(rows_of(layout.tokens, layout.n_decode), {op.out, op.in, op.weights, op.ids},
                [&](Program& p) { p.add(op); });
      return rig->read(op.out);
    };
  });
}

INSTANTIATE_TEST_SUITE_P(Operations, RowDeterminism,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(weight_types())),
                         [](const auto& test) { return suite_name(std::get<0>(test.param), std::get<1>(test.param)); });

class AttentionDeterminism : public testing::TestWithParam<std::tuple<BackendUnderTest, KvType>> {
 protected:
  void SetUp() override { skip_where_absent(std::get<0>(GetParam())); }

  static constexpr uint32_t kPrompt = 50, kPromptRows = 19;

  AttentionRig rig(uint32_t n_threads, uint32_t window, uint32_t block_step) const {
    const auto& [backend, kv_type] = GetParam();
    AttentionRig made(*backend.make(n_threads), {96, 8, 2, window, 3.0f, kv_type}, block_step);
    made.store_history(0, 37);
    made.store_history(1, 603);
    made.store_history(2, kPrompt);
    return made;
  }
};

std::vector<float> joined(std::initializer_list<std::vector<float>> parts) {
  std::vector<float> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_P(AttentionDeterminism, OfRowsAloneTogetherInChunksAndInOtherBlocks) {
  constexpr Chunk kShort{0, 37, 1}, kLong{1, 603, 1}, kChunk{2, kPrompt, kPromptRows};
  constexpr Chunk kFirst{2, kPrompt, 7}, kRest{2, kPrompt + 7, kPromptRows - 7};
  for (const uint32_t window : {0u, 33u}) {
    AttentionRig alone = rig(1, window, 37);
    const auto near = alone.attend({kShort}, 1), far = alone.attend({kLong}, 1), prompt = alone.attend({kChunk}, 0);
    for (uint32_t n_threads = 1; n_threads <= std::get<0>(GetParam()).max_threads; ++n_threads) {
      AttentionRig together = rig(n_threads, window, 7);
      EXPECT_TRUE(same_bytes(together.attend({kShort, kLong, kChunk}, 2), joined({near, far, prompt})))
          << n_threads << " threads, window " << window;
      EXPECT_TRUE(same_bytes(together.attend({kLong, kShort, kChunk}, 2), joined({far, near, prompt})))
          << n_threads << " threads, window " << window << ", decode rows swapped";
      AttentionRig in_chunks = rig(n_threads, window, 3);
      std::vector<float> rows;
      for (uint32_t i = 0; i < kPromptRows; ++i) rows = joined({rows, in_chunks.attend({{2, kPrompt + i, 1}}, 0)});
      EXPECT_TRUE(same_bytes(rows, prompt)) << n_threads << " threads, window " << window << ", one by one";
      const auto first = in_chunks.attend({kLong, kFirst}, 1), rest = in_chunks.attend({kShort, kRest}, 1);
      const auto cut = static_cast<ptrdiff_t>(near.size());
      EXPECT_TRUE(same_bytes(joined({{first.begin(), first.begin() + cut}, {rest.begin(), rest.begin() + cut}}),
                             joined({far, near})))
          << n_threads << " threads, window " << window << ", decode rows in one step with chunks";
      EXPECT_TRUE(same_bytes(joined({{first.begin() + cut, first.end()}, {rest.begin() + cut, rest.end()}}), prompt))
          << n_threads << " threads, window " << window << ", chunks";
    }
  }
}

TEST_P(AttentionDeterminism, OfBothPhasesWhereTheyAgree) {
  if (!(*std::get<0>(GetParam()).make(1))->info().decode_matches_prefill)
    GTEST_SKIP() << "its phases have arithmetics of their own";
  constexpr uint32_t kRows = 5;
  for (const uint32_t window : {0u, 33u, 300u}) {
    for (const uint32_t first_pos : {30u, 254u, 598u}) {
      AttentionRig prompt = rig(1, window, 37), decode = rig(2, window, 7);
      EXPECT_TRUE(same_bytes(prompt.attend({{1, first_pos, kRows}}, 0), decode.attend({{1, first_pos, kRows}}, kRows)))
          << "from position " << first_pos << ", window " << window;
    }
  }
}

// Rows like those of speculative tokens: computed with the decode arithmetic, though several at a time.
TEST_P(AttentionDeterminism, OfSeveralDecodeRowsOfOneSequence) {
  for (const uint32_t first_pos : {254u, 511u, 600u}) {
    constexpr uint32_t kDecoded = 5;
    AttentionRig alone = rig(1, 0, 37);
    std::vector<float> rows;
    for (uint32_t i = 0; i < kDecoded; ++i) rows = joined({rows, alone.attend({{1, first_pos + i, 1}}, 1)});
    AttentionRig together = rig(2, 0, 7);
    EXPECT_TRUE(same_bytes(together.attend({{1, first_pos, kDecoded}}, kDecoded), rows)) << "from " << first_pos;
  }
}

TEST_P(AttentionDeterminism, OfMoreKvHeadsThanAThreadTakesAtOnce) {
  constexpr uint32_t kFar = 603;
  const BackendUnderTest& backend = std::get<0>(GetParam());
  const auto attend = [&](uint32_t n_threads, uint32_t n_decode) {
    AttentionRig rig(*backend.make(n_threads), {32, 12, 6, 0, 3.0f, std::get<1>(GetParam())}, 37);
    rig.store_history(1, kFar);
    return rig.attend({{1, kFar, 1}}, n_decode);
  };
  const auto alone = attend(1, 1);
  for (uint32_t n_threads = 2; n_threads <= backend.max_threads; ++n_threads) {
    EXPECT_TRUE(same_bytes(attend(n_threads, 1), alone)) << n_threads << " threads";
  }
  if ((*backend.make(1))->info().decode_matches_prefill) {
    EXPECT_TRUE(same_bytes(attend(1, 0), alone)) << "as a prompt's row";
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, AttentionDeterminism,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(kKvTypes)),
                         [](const auto& test) {
                           return suite_name(std::get<0>(test.param), kv_traits(std::get<1>(test.param)).id);
                         });

}  // namespace
}  // namespace realizar::test
