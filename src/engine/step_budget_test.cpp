#include "engine/step_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "engine/step_cost.h"

namespace realizar::engine {
namespace {

constexpr double kDecodeMs = 20, kTokenMs = 2;
constexpr StepDemand kOnePrompt{.n_decoding = 4, .n_decode_rows = 4, .n_prompts = 1, .n_prompt_tokens = 100000};

// A machine on which a step takes kDecodeMs, kTokenMs for each prompt token, and fixed_ms if there are any.
double step_ms(uint32_t n_prefill, double fixed_ms) {
  return kDecodeMs + (n_prefill > 0 ? fixed_ms + kTokenMs * n_prefill : 0);
}

struct Settled {
  double mean_ms = 0;  // of the last steps
  double longest_ms = 0;
  double tokens_per_ms = 0;
};

// The result of many steps with one demand; the first half is ignored.
Settled settle(StepBudget& budget, const StepDemand& demand, double fixed_ms, uint32_t n_steps = 2000) {
  Settled settled;
  double n_tokens = 0, sum_ms = 0;
  const uint32_t n_ignored = n_steps / 2;
  for (uint32_t step = 0; step < n_steps; ++step) {
    const uint32_t n_prefill = budget.plan(demand);
    const double ms = step_ms(n_prefill, fixed_ms);
    budget.observe({demand.n_decode_rows, n_prefill, 0}, ms);
    if (step < n_ignored) continue;
    n_tokens += n_prefill;
    sum_ms += ms;
    settled.longest_ms = std::max(settled.longest_ms, ms);
  }
  settled.mean_ms = sum_ms / (n_steps - n_ignored);
  settled.tokens_per_ms = n_tokens / sum_ms;
  return settled;
}

TEST(StepBudget, KindsAreHalvesOfPowersOfTwo) {
  size_t last = 0;
  for (uint32_t n_rows = 1; n_rows < 3000; ++n_rows) {
    const size_t kind = StepBudget::kind_of(n_rows);
    const auto [first_row, last_row] = StepBudget::rows_of(kind);
    EXPECT_GE(kind, last);
    EXPECT_TRUE(first_row <= n_rows && n_rows <= last_row) << n_rows << " in " << first_row << " to " << last_row;
    EXPECT_LE(last_row, first_row + std::max(first_row / 2, 1u) - 1) << "costs in a kind are alike";
    last = kind;
  }
  EXPECT_LT(StepBudget::kind_of(UINT32_MAX), StepBudget::kKinds);
  EXPECT_EQ(StepBudget::rows_of(StepBudget::kind_of(UINT32_MAX)).last, UINT32_MAX);
}

TEST(StepBudget, LearnsWhatDecodingCostsFirst) {
  StepBudget budget(512);
  EXPECT_EQ(budget.plan(kOnePrompt), 0u);
  budget.observe({4, 0, 0}, kDecodeMs);
  EXPECT_GT(budget.plan(kOnePrompt), 0u);
  EXPECT_EQ(budget.plan({20, 20, 1, 100}), 0u) << "a batch of another size costs something else";
}

TEST(StepBudget, TellsWhatItMeasuredAlone) {
  StepBudget budget(512);
  budget.observe({0, 100, 0}, 200);
  budget.observe({4, 0, 0}, kDecodeMs);
  EXPECT_GT(budget.plan(kOnePrompt), 0u);
  const auto before = budget.costs(StepBudget::kind_of(4));
  EXPECT_EQ(before.decode_ms, kDecodeMs);
  EXPECT_EQ(before.prompt_token_ms, 0) << "an estimate so far, from prompts that were computed by themselves";
  budget.observe({4, 10, 0}, kDecodeMs + 20);
  EXPECT_GT(budget.costs(StepBudget::kind_of(4)).prompt_token_ms, 0);
}

TEST(StepBudget, WhereNothingDecodesTheStepIsFull) {
  StepBudget budget(512);
  EXPECT_EQ(budget.plan({0, 0, 3, 5000}), 512u);
}

TEST(StepBudget, OnePromptStretchesStepsToLessThanTwice) {
  StepBudget budget(512);
  const Settled settled = settle(budget, kOnePrompt, 0);
  EXPECT_LT(settled.longest_ms, 2 * kDecodeMs);
  EXPECT_GT(settled.mean_ms, 1.5 * kDecodeMs) << "and uses what it may";
}

TEST(StepBudget, ABacklogOfPromptsMakesStepsLonger) {
  StepBudget budget(512);
  const auto with_prompts = [](uint32_t n) { return StepDemand{4, 4, n, 100000}; };
  const Settled alone = settle(budget, with_prompts(1), 0), with_more = settle(budget, with_prompts(5), 0);
  EXPECT_GT(with_more.tokens_per_ms, 1.5 * alone.tokens_per_ms);
  EXPECT_NEAR(settle(budget, with_prompts(1000), 0).mean_ms, with_more.mean_ms, 0.05 * with_more.mean_ms)
      << "but no longer than this";
}

TEST(StepBudget, AFixedPartIsSharedByManyTokensAndThePaceIsKeptOnAverage) {
  for (const double fixed_ms : {10.0, 40.0, 200.0, 1000.0}) {
    StepBudget budget(4096);
    const Settled settled = settle(budget, kOnePrompt, fixed_ms, 16000);
    EXPECT_LT(settled.mean_ms, 1.85 * kDecodeMs) << fixed_ms;
    // Seven eighths of the time that 1.8 times the pace leaves for prompts go to tokens, minus the cost of trials.
    EXPECT_GT(settled.tokens_per_ms, 0.7 * 0.8 / 1.8 / kTokenMs) << fixed_ms;
    EXPECT_LT(settled.longest_ms, kDecodeMs + 12 * fixed_ms) << fixed_ms;
  }
}

TEST(StepBudget, ChunksDoNotOscillate) {
  StepBudget budget(512);
  settle(budget, kOnePrompt, 40);
  std::vector<uint32_t> chunks;
  while (chunks.size() < 100) {
    const uint32_t n_prefill = budget.plan(kOnePrompt);
    budget.observe({4, n_prefill, 0}, step_ms(n_prefill, 40));
    if (n_prefill > 0) chunks.push_back(n_prefill);
  }
  std::sort(chunks.begin(), chunks.end());
  EXPECT_LT(chunks[98], chunks[20] * 1.1) << "only the trials, an eighth, are of another size";
  EXPECT_GE(chunks[8], chunks[50] * 0.45) << "half of the trials are small chunks";
}

// Changed costs are noticed: the result is that of a fresh budget.
TEST(StepBudget, LearnsAgainWhenCostsChange) {
  for (const auto& [before_ms, after_ms] : {std::pair{0.0, 100.0}, std::pair{100.0, 0.0}, std::pair{20.0, 300.0}}) {
    StepBudget changed(512), fresh(512);
    settle(changed, kOnePrompt, before_ms);
    const Settled after = settle(changed, kOnePrompt, after_ms, 1000), expected = settle(fresh, kOnePrompt, after_ms);
    EXPECT_NEAR(after.tokens_per_ms, expected.tokens_per_ms, 0.1 * expected.tokens_per_ms)
        << before_ms << " then " << after_ms;
    EXPECT_LT(after.longest_ms, 1.3 * expected.longest_ms);
  }
}

// Measured times of steps with four decode rows and n_prefill prompt tokens, for Llama-3.2-1B's shape in Q4_K_M on two
// cores of a Zen 4 server: each token of a large chunk costs less than one of a small chunk.
double measured_ms(double n_prefill) {
  constexpr std::pair<double, double> kMeasured[] = {{0, 34},   {4, 42.5}, {5, 54},   {8, 62},    {12, 75},   {16, 91},
                                                     {28, 144}, {44, 239}, {60, 310}, {124, 588}, {252, 1090}};
  const auto* above = std::find_if(std::begin(kMeasured) + 1, std::end(kMeasured) - 1,
                                   [=](const auto& point) { return point.first >= n_prefill; });
  const auto [n0, ms0] = above[-1];
  const auto [n1, ms1] = *above;
  return ms0 + (ms1 - ms0) * (n_prefill - n0) / (n1 - n0);
}

TEST(StepBudget, SmallChunksAreTakenWhereLargeOnesOnlySeemToShareAFixedPart) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    StepBudget budget(512);
    budget.observe({0, 128, 0}, 512);
    std::vector<double> steps_ms;
    double n_tokens = 0, sum_ms = 0;
    while (n_tokens < 4000) {
      const uint32_t n_prefill = budget.plan(kOnePrompt);
      const bool is_interrupted = std::uniform_real_distribution<>()(random) < 0.02;
      const double noise = std::exp(std::normal_distribution<>(0, 0.07)(random)) * (is_interrupted ? 3 : 1);
      steps_ms.push_back(noise * (measured_ms(n_prefill) + n_tokens / 4000 * n_prefill));
      budget.observe({4, n_prefill, 0}, steps_ms.back());
      n_tokens += n_prefill;
      sum_ms += steps_ms.back();
    }
    std::sort(steps_ms.begin(), steps_ms.end());
    EXPECT_LT(steps_ms[steps_ms.size() * 95 / 100], 4 * measured_ms(0)) << seed;
    EXPECT_LT(steps_ms.back(), 15 * measured_ms(0)) << seed << ": interruptions take three times as long";
    EXPECT_GT(n_tokens / sum_ms, 0.075) << seed;
  }
}

TEST(StepBudget, ARestThatCostsLessThanAStepOfItsOwnGoesAlong) {
  StepBudget budget(4096);
  StepDemand demand = kOnePrompt;
  settle(budget, demand, 100);
  constexpr uint32_t kSmallTrial = 64;
  uint32_t n_chunk = budget.plan(demand);
  while (n_chunk <= kSmallTrial) {
    budget.observe({4, n_chunk, 0}, step_ms(n_chunk, 100));
    n_chunk = budget.plan(demand);
  }
  demand.n_prompt_tokens = n_chunk + 20;
  EXPECT_EQ(budget.plan(demand), n_chunk + 20);
  demand.n_prompt_tokens = n_chunk + 200;
  EXPECT_EQ(budget.plan(demand), n_chunk);
}

TEST(StepBudget, AnInterruptionChangesLittle) {
  StepBudget budget(512);
  settle(budget, kOnePrompt, 40);
  const size_t kind = StepBudget::kind_of(4);
  const auto before = budget.costs(kind);
  budget.observe({4, 100, 0}, 100 * step_ms(100, 40));
  budget.observe({4, 0, 0}, 100 * kDecodeMs);
  const auto after = budget.costs(kind);
  EXPECT_LT(after.decode_ms, 1.3 * before.decode_ms);
  const auto chunk_ms = [](const StepBudget::Costs& c) {
    return c.decode_ms + c.prompt_fixed_ms + 100 * c.prompt_token_ms;
  };
  EXPECT_LT(chunk_ms(after), 1.3 * chunk_ms(before));
}

TEST(StepBudget, ReplayedTokensTeachNothingOfPromptsButCountForThePace) {
  StepBudget budget(512);
  settle(budget, kOnePrompt, 0);
  const auto before = budget.costs(StepBudget::kind_of(4));
  budget.observe({4, 10, 100}, 500);
  const auto after = budget.costs(StepBudget::kind_of(4));
  EXPECT_EQ(before.prompt_token_ms, after.prompt_token_ms);
  EXPECT_EQ(before.prompt_fixed_ms, after.prompt_fixed_ms);
  EXPECT_EQ(budget.plan(kOnePrompt), 0u) << "the streams are behind";
}

TEST(StepBudget, MeasuresDecodingAgainNowAndThen) {
  StepBudget budget(512);
  settle(budget, kOnePrompt, 0);
  while (budget.plan(kOnePrompt) > 0) budget.observe({4, 4, 0}, step_ms(4, 0));
  budget.observe({4, 0, 0}, kDecodeMs);
  int n_until_measured = 0;
  while (budget.plan(kOnePrompt) > 0 && n_until_measured < 1000) {
    budget.observe({4, 4, 0}, step_ms(4, 0));
    ++n_until_measured;
  }
  EXPECT_EQ(n_until_measured, 64);
}

TEST(StepCost, TellsTheFixedPartFromTheTokens) {
  StepCost cost;
  cost.start(0, 10);  // a wrong estimate
  for (int step = 0; step < 200; ++step) {
    const uint32_t n = step % 8 == 0 ? 64 : 128;
    cost.observe(n, 60 + 2 * n);
  }
  EXPECT_NEAR(cost.fixed_ms(), 60, 6);
  EXPECT_NEAR(cost.token_ms(), 2, 0.1);
  EXPECT_TRUE(cost.is_split_known());
}

TEST(StepCost, OneSizeTellsTheSumAlone) {
  StepCost cost;
  cost.start(0, 10);
  for (int step = 0; step < 500; ++step) cost.observe(64, 188);
  EXPECT_NEAR(cost.ms(64), 188, 2);
  EXPECT_FALSE(cost.is_split_known());
}

}  // namespace
}  // namespace realizar::engine
