#include "backend/cuda/compile/step_commands.h"

#include <gtest/gtest.h>

namespace realizar::cuda {
namespace {

constexpr ActId kSum{0}, kInput{1}, kPart{2};
constexpr WeightId kWhole{0}, kPartly{1}, kBias{2};

// Two devices share the layers.
class StepCommandsTest : public testing::Test {
 protected:
  void SetUp() override {
    placement_.set_layers(std::vector<uint32_t>{2, 2});
    for (const bool gives_parts : {false, true, false}) placement_.add_weight(Placement::kEverywhere, gives_parts);
  }

  Placement placement_{2, true};
  StepCommands commands_{placement_, 3, kPart};
};

TEST_F(StepCommandsTest, EachHasItsHeads) {
  commands_.append(
      AttentionOp{.out = kSum, .q = kInput, .layer = 1, .n_heads = 8, .n_kv_heads = 4, .head_dim = 64, .scale = 1});
  const auto& op = std::get<AttentionOp>(commands_.all()[0]);
  EXPECT_EQ(op.n_heads, 4u);
  EXPECT_EQ(op.n_kv_heads, 2u);
}

TEST_F(StepCommandsTest, AProductOfSomeColumnsIsAPartThatTheSumCompletes) {
  commands_.append(LinearOp{
      .out = kSum, .in = kInput, .weight = kPartly, .bias = kBias, .epilogue = {.scale = 0.5f}, .accumulate = true});
  ASSERT_EQ(commands_.all().size(), 2u);
  EXPECT_EQ(std::get<LinearOp>(commands_.all()[0]), (LinearOp{.out = kPart, .in = kInput, .weight = kPartly}));
  EXPECT_EQ(std::get<SumPartsOp>(commands_.all()[1]), (SumPartsOp{kSum, kPart, 2, kBias, true, 0.5f}));
  EXPECT_EQ(commands_.stages().all()[0].end, StageEnd(GatherParts{kPart}));
}

TEST_F(StepCommandsTest, AProductOfAllColumnsIsEachOnesOwn) {
  const LinearOp op{.out = kSum, .in = kInput, .weight = kWhole, .bias = kBias};
  commands_.append(op);
  ASSERT_EQ(commands_.all().size(), 1u);
  EXPECT_EQ(std::get<LinearOp>(commands_.all()[0]), op);
}

TEST_F(StepCommandsTest, ExpertsAddToNothing) {
  commands_.append(ExpertsOp{.out = kSum,
                             .in = kInput,
                             .weights = kInput,
                             .ids = kInput,
                             .gate = kWhole,
                             .up = kWhole,
                             .down = kPartly,
                             .n_used = 2,
                             .d_ff = 1});
  ASSERT_EQ(commands_.all().size(), 3u);
  EXPECT_EQ(std::get<ClearOp>(commands_.all()[0]).out, kPart);
  EXPECT_EQ(std::get<ExpertsOp>(commands_.all()[1]).out, kPart);
  EXPECT_EQ(std::get<SumPartsOp>(commands_.all()[2]), (SumPartsOp{kSum, kPart, 2, kNoWeight, true}));
}

TEST(StepCommandsOfProcesses, AJoinGathersPartsAndAddsThem) {
  const Placement placement(1, false);
  StepCommands commands(placement, 3, kNoAct, 4);
  commands.append(NormOp{.out = kPart, .in = kInput});
  commands.append(JoinOp{.out = kSum, .part = kPart, .accumulate = true});
  commands.append(SendOp{.act = kSum, .to = 1});
  ASSERT_EQ(commands.all().size(), 2u);
  EXPECT_EQ(std::get<SumPartsOp>(commands.all()[1]), (SumPartsOp{kSum, kPart, 4, kNoWeight, true}));
  ASSERT_EQ(commands.stages().all().size(), 2u);
  EXPECT_EQ(commands.stages().all()[0].end, StageEnd(GatherParts{kPart}));
  EXPECT_EQ(std::get<SendOp>(commands.stages().all()[1].end).act, kSum);
}

}  // namespace
}  // namespace realizar::cuda
