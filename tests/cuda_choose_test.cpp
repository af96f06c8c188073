// Tokens chosen by the device equal those that the sampler chooses from the same logits.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backend/ops.h"
#include "engine/choice_builder.h"
#include "sampling/penalties.h"
#include "sampling/philox.h"
#include "sampling/sampler.h"
#include "support/cuda_test.h"
#include "support/op_rig.h"
#include "support/thread_orders.h"

namespace realizar::test {
namespace {

constexpr uint32_t kVocab = 9001;  // three parts, the last not full
constexpr uint32_t kRows = 3;
constexpr uint32_t kCols = 32;  // of the product that makes the logits
constexpr float kHuge = 1e30F;  // its square is infinite

// Row r is flatter than row r + 1; some logits are equal, one belongs to a forbidden token.
InputTable random_logits(uint64_t seed) {
  InputTable table{kRows, kVocab, {}};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t i = 0; i < kVocab; ++i) {
      table.values.push_back(std::round(normal(random) * 64.0f) / 64.0f * (1.0f + 2.0f * static_cast<float>(r)));
    }
  }
  table.values[5] = -INFINITY;
  return table;
}

// Row r of the inputs selects column r of a matrix whose columns are the logits. Weights are finite; infinite and NaN
// logits come from products that overflow: only row r has large numbers in two more columns, and NaN is the sum of both
// infinities.
class ChooseRig {
 public:
  ChooseRig(const CudaUnderTest& cuda, const InputTable& logits)
      : logits_(logits), rig_(*make_cuda_on(cuda.open, 1, {}), {.max_rows = kRows, .max_logit_rows = kRows}) {
    InputTable picks{kRows, kCols, std::vector<float>(kRows * kCols)};
    TestMatrix columns{TypeId::kF32, 1, kVocab, kCols, {}, std::vector<float>(size_t{kVocab} * kCols), {}, {}};
    for (uint32_t r = 0; r < kRows; ++r) {
      const uint32_t first = kRows + 2 * r, second = first + 1;
      picks.row(r)[r] = 1;
      picks.row(r)[first] = picks.row(r)[second] = kHuge;
      for (uint32_t id = 0; id < kVocab; ++id) {
        const float logit = logits.row(r)[id];
        float* weights = columns.values.data() + size_t{id} * kCols;
        if (std::isfinite(logit)) weights[r] = logit;
        if (std::isnan(logit) || logit == INFINITY) weights[first] = kHuge;
        if (std::isnan(logit) || logit == -INFINITY) weights[second] = -kHuge;
      }
    }
    const auto bytes = std::as_bytes(std::span(columns.values));
    columns.bytes.assign(bytes.begin(), bytes.end());
    picks_ = rig_.input(picks);
    columns_ = rig_.matrix(columns);
    act_ = rig_.output(kVocab);
  }

  // A token for each row, chosen by the device; kNoToken for rows left to the caller.
  std::vector<TokenId> choose(const std::vector<SamplingParams>& params, std::span<const TokenId> history) {
    std::vector<uint32_t> counts(kVocab);
    std::vector<std::vector<SeenToken>> seen(kRows);
    std::vector<TokenChoice> choices;
    for (uint32_t r = 0; r < kRows; ++r) {
      if (has_penalties(params[r])) {
        for_each_seen(params[r], history, counts, [&](TokenId id, uint32_t n) { seen[r].push_back({id, n}); });
      }
      choices.push_back(engine::choice_of(params[r], uniform(params[r].seed, history.size())));
      choices.back().seen = seen[r];
    }
    TestBatch batch = rows_of(std::vector<uint32_t>{0, 1, 2}, kRows);
    batch.logit_rows = {0, 1, 2};
    StepBatch view = batch.view();
    view.choices = choices;
    rig_.step(view, {picks_}, [&](Program& p) {
      p.add(LinearOp{.out = act_, .in = picks_, .weight = columns_});
      p.add(ChooseOp{.logits = act_});
    });
    const auto chosen = rig_.backend().chosen();
    return {chosen.begin(), chosen.end()};
  }

  std::vector<TokenId> expected(const std::vector<SamplingParams>& params, std::span<const TokenId> history) const {
    Sampler sampler(kVocab);
    std::vector<TokenId> tokens;
    for (uint32_t r = 0; r < kRows; ++r) {
      tokens.push_back(
          sampler.sample(params[r], std::span(logits_.values).subspan(size_t{r} * kVocab, kVocab), history));
    }
    return tokens;
  }

 private:
  InputTable logits_;
  OpRig rig_;
  ActId picks_, act_;
  WeightId columns_;
};

std::vector<SamplingParams> for_all_rows(SamplingParams params, uint64_t seed) {
  std::vector<SamplingParams> all(kRows, params);
  for (uint32_t r = 0; r < kRows; ++r) all[r].seed = seed + r;
  return all;
}

const std::vector<TokenId> kHistory = {TokenId{7}, TokenId{4100}, TokenId{9000}, TokenId{7}, TokenId{8191}};

void expect_as_the_sampler(const CudaUnderTest& cuda, SamplingParams params) {
  ChooseRig rig(cuda, random_logits(3));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto all = for_all_rows(params, seed * 11);
    EXPECT_EQ(rig.choose(all, kHistory), rig.expected(all, kHistory)) << "seed " << seed * 11;
  }
}

class CudaChoose : public CudaTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CudaChoose, testing::ValuesIn(cudas_under_test()), name_of);

TEST_P(CudaChoose, TheLikeliestAtTemperatureZero) {
  expect_as_the_sampler(GetParam(), {.temperature = 0});
}

TEST_P(CudaChoose, OfEqualsTheLowestId) {
  InputTable logits = random_logits(1);
  for (const uint32_t id : {8500, 4200, 300}) logits.values[id] = 1000;
  ChooseRig rig(GetParam(), logits);
  EXPECT_EQ(rig.choose(for_all_rows({.temperature = 0}, 0), kHistory)[0], TokenId{300});
}

TEST_P(CudaChoose, ARowThatIsNoPredictionIsLeftToTheCaller) {
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 0}, SamplingParams{.repeat_penalty = 3, .presence_penalty = 2},
        SamplingParams{.temperature = 1, .top_k = 0, .top_p = 1}}) {
    const auto all = for_all_rows(params, 3);
    for (const uint32_t id : {0u, 7u, 4100u, kVocab - 1}) {
      for (const float wrong : {NAN, INFINITY}) {
        InputTable logits = random_logits(2);
        logits.values[kVocab + id] = wrong;
        ChooseRig rig(GetParam(), logits);
        const auto chosen = rig.choose(all, kHistory), expected = rig.expected(all, kHistory);
        EXPECT_EQ(chosen[1], kNoToken) << id;
        EXPECT_EQ(chosen, expected) << id;
      }
    }
    InputTable logits = random_logits(2);
    std::fill_n(logits.values.begin() + kVocab, kVocab, -INFINITY);
    EXPECT_EQ(ChooseRig(GetParam(), logits).choose(all, kHistory)[1], kNoToken);
  }
}

TEST_P(CudaChoose, TopKWithTopPAndMinP) {
  expect_as_the_sampler(GetParam(), {});
  expect_as_the_sampler(GetParam(), {.temperature = 1.5f, .top_k = 256, .top_p = 0.5f, .min_p = 0.02f});
  expect_as_the_sampler(GetParam(), {.temperature = 0.3f, .top_k = 2, .top_p = 1});
  expect_as_the_sampler(GetParam(), {.temperature = 1.5f, .top_k = 256, .top_p = 0});
}

TEST_P(CudaChoose, TheWholeVocabulary) {
  expect_as_the_sampler(GetParam(), {.temperature = 1, .top_k = 0, .top_p = 1});
}

TEST_P(CudaChoose, Penalties) {
  expect_as_the_sampler(GetParam(),
                        {.top_k = 50, .repeat_penalty = 3, .frequency_penalty = 1.5f, .presence_penalty = -2});
  expect_as_the_sampler(GetParam(), {.temperature = 0, .repeat_penalty = 0.01f});
}

// The flattest row's nucleus holds more tokens than the device sorts; the others' do not.
TEST_P(CudaChoose, ANucleusOfManyTokensIsLeftToTheCaller) {
  ChooseRig rig(GetParam(), random_logits(3));
  const auto params = for_all_rows({.temperature = 0.9f, .top_k = 0, .top_p = 0.9f}, 5);
  const auto chosen = rig.choose(params, kHistory), expected = rig.expected(params, kHistory);
  EXPECT_EQ(chosen[0], kNoToken);
  EXPECT_EQ(chosen[2], expected[2]);
}

TEST_P(CudaChoose, ARecordedStepChoosesByTheNextStepsParameters) {
  ChooseRig rig(GetParam(), random_logits(3));
  auto params = for_all_rows({}, 1);
  EXPECT_EQ(rig.choose(params, kHistory), rig.expected(params, kHistory));
  params[1] = {.temperature = 0};
  params[2] = {.temperature = 1, .top_k = 0, .top_p = 1, .seed = 99};
  EXPECT_EQ(rig.choose(params, kHistory), rig.expected(params, kHistory));
}

TEST_P(CudaChoose, ThreadsInAnyOrderChooseTheSame) {
  ChooseRig rig(GetParam(), random_logits(4));
  const auto params = for_all_rows({.top_k = 100}, 2);
  expect_same_in_all_orders([&] { return rig.choose(params, kHistory); });
}

}  // namespace
}  // namespace realizar::test
