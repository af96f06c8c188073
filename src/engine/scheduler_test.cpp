#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

Sequence sequence(uint32_t n_prompt, uint32_t n_computed) {
  Sequence s;
  s.n_prompt = n_prompt;
  s.n_computed = n_computed;
  return s;
}

TEST(Scheduler, DecodesFirstAndFillsTheBudgetWithPromptsInOrder) {
  const std::vector<Sequence> sequences = {sequence(10, 0), sequence(5, 5), sequence(7, 3), sequence(4, 9)};
  std::vector<PlannedChunk> plan;
  plan_step(sequences, 9, plan);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].seq_idx, 1u);
  EXPECT_TRUE(plan[0].is_decode && plan[0].wants_logits);
  EXPECT_EQ(plan[1].seq_idx, 3u);
  EXPECT_EQ(plan[2].seq_idx, 0u);
  EXPECT_EQ(plan[2].n_tokens, 7u);
  EXPECT_FALSE(plan[2].wants_logits);

  plan_step(sequences, 100, plan);
  ASSERT_EQ(plan.size(), 4u);
  EXPECT_EQ(plan[2].n_tokens, 10u);
  EXPECT_TRUE(plan[2].wants_logits);
  EXPECT_EQ(plan[3].n_tokens, 4u);
}

TEST(Scheduler, NothingToDoOrNoBudgetIsAnEmptyPlan) {
  std::vector<PlannedChunk> plan(3);
  plan_step({}, 9, plan);
  EXPECT_TRUE(plan.empty());
  const std::vector<Sequence> sequences = {sequence(10, 0)};
  plan_step(sequences, 0, plan);
  EXPECT_TRUE(plan.empty());
}

}  // namespace
}  // namespace realizar
