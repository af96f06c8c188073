#include "engine/step_budget.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

constexpr double kDecodeMs = 20, kTokenMs = 2;

// A machine on which a step takes kDecodeMs and kTokenMs for each prompt token beside it.
uint32_t settled_tokens(StepBudget& budget, uint32_t n_decode_rows, uint32_t n_prompts) {
  uint32_t n_bulk = 0;
  for (int step = 0; step < 50; ++step) {
    n_bulk = budget.bulk_tokens(n_decode_rows, n_prompts);
    budget.observe(n_decode_rows, n_bulk, kDecodeMs + kTokenMs * n_bulk);
  }
  return n_bulk;
}

TEST(StepBudget, LearnsWhatDecodingCostsFirst) {
  StepBudget budget(512);
  EXPECT_EQ(budget.bulk_tokens(4, 1), 0u);
  budget.observe(4, 0, kDecodeMs);
  EXPECT_GT(budget.bulk_tokens(4, 1), 0u);
  EXPECT_EQ(budget.bulk_tokens(20, 1), 0u) << "a batch of another size costs something else";
}

TEST(StepBudget, OnePromptStretchesTheStepToLessThanTwice) {
  StepBudget budget(512);
  const uint32_t n_bulk = settled_tokens(budget, 4, 1);
  EXPECT_GE(n_bulk, 6u);
  EXPECT_LT(kDecodeMs + kTokenMs * n_bulk, 2 * kDecodeMs);
}

TEST(StepBudget, ABacklogOfPromptsMakesStepsLonger) {
  StepBudget budget(512);
  const uint32_t n_alone = settled_tokens(budget, 4, 1);
  const uint32_t n_with_more = settled_tokens(budget, 4, 5);
  EXPECT_GT(n_with_more, 3 * n_alone);
  EXPECT_EQ(settled_tokens(budget, 4, 1000), n_with_more) << "but no longer than this";
}

TEST(StepBudget, MeasuresDecodingAgainNowAndThen) {
  StepBudget budget(512);
  budget.observe(4, 0, kDecodeMs);
  int n_until_measured = 0;
  while (budget.bulk_tokens(4, 1) > 0 && n_until_measured < 1000) {
    budget.observe(4, 8, kDecodeMs + 8 * kTokenMs);
    ++n_until_measured;
  }
  EXPECT_EQ(n_until_measured, 64);
}

}  // namespace
}  // namespace realizar
