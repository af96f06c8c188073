#include "engine/counters.h"

#include <gtest/gtest.h>

namespace realizar::engine {
namespace {

TEST(EngineCounters, CountsAreAddedAndStatesAreTheLatest) {
  EngineCounters before, now, sum;
  before.n_prompt_tokens = 5;
  before.n_accepted = 2;
  before.n_tokens_max = 90;
  before.n_running = 3;
  before.n_steps_in_class[1] = 4;
  before.decode_steps.n = 4;
  before.decode_steps.sum_s = 1;
  before.decode_steps.min_s = 0.125;
  before.decode_steps.max_s = 0.5;
  now.n_prompt_tokens = 7;
  now.n_tokens_max = 40;
  now.n_running = 1;
  now.n_block_tokens = 32;
  now.n_steps_in_class[1] = 1;
  now.decode_steps.n = 1;
  now.decode_steps.sum_s = 2;
  now.decode_steps.min_s = now.decode_steps.max_s = 2;
  now.step_costs[0].decode_ms = 6;
  sum.add_counts(before);
  sum.add_counts(now);
  sum.take_state(now);
  EXPECT_EQ(sum.n_prompt_tokens, 12u);
  EXPECT_EQ(sum.n_accepted, 2u);
  EXPECT_EQ(sum.n_tokens_max, 90u);
  EXPECT_EQ(sum.n_running, 1u);
  EXPECT_EQ(sum.n_block_tokens, 32u);
  EXPECT_EQ(sum.n_steps_in_class[1], 5u);
  EXPECT_EQ(sum.decode_steps.n, 5u);
  EXPECT_EQ(sum.decode_steps.sum_s, 3);
  EXPECT_EQ(sum.decode_steps.min_s, 0.125);
  EXPECT_EQ(sum.decode_steps.max_s, 2);
  EXPECT_EQ(sum.prefill_steps.n, 0u);
  EXPECT_EQ(sum.step_costs[0].decode_ms, 6);
}

}  // namespace
}  // namespace realizar::engine
