#include "backend/cuda/compile/stages.h"

#include <gtest/gtest.h>

namespace realizar::cuda {
namespace {

constexpr ActId kX{0}, kNormed{1}, kHidden{2};

class StagesTest : public testing::Test {
 protected:
  std::vector<ActId> crossing(size_t stage) const {
    std::vector<ActId> acts;
    for (const Crossing& c : stages_.crossings(stages_.all()[stage])) acts.push_back(c.act);
    return acts;
  }

  Stages stages_{3, 3};
};

using Acts = std::vector<ActId>;

TEST_F(StagesTest, ACommandThatNeedsNoDeviceRunsWhereTheOneBeforeRan) {
  stages_.add(EmbedOp{.out = kX, .table = WeightId{0}}, 1);
  stages_.add(SelectRowsOp{.out = kHidden, .in = kX}, std::nullopt);
  ASSERT_EQ(stages_.all().size(), 1u);
  EXPECT_EQ(stages_.all()[0].rank, 1u);
  EXPECT_EQ(stages_.all()[0].end_command, 2u);
  EXPECT_EQ(stages_.rank_of(kHidden), 1u);
  EXPECT_TRUE(crossing(0).empty());
}

TEST_F(StagesTest, WhatIsReadOnAnotherDeviceCrossesOnce) {
  stages_.add(EmbedOp{.out = kX, .table = WeightId{0}}, 0);
  stages_.add(NormOp{.out = kNormed, .in = kX}, 2);
  stages_.add(LinearOp{.out = kX, .in = kNormed, .weight = WeightId{1}, .accumulate = true}, 2);
  ASSERT_EQ(stages_.all().size(), 2u);
  EXPECT_EQ(crossing(1), (Acts{kX}));
  EXPECT_EQ(stages_.crossings(stages_.all()[1])[0].from_rank, 0u);
  EXPECT_EQ(stages_.rank_of(kX), 2u);
}

TEST_F(StagesTest, ASumNeedsWhatItIsAddedTo) {
  stages_.add(EmbedOp{.out = kX, .table = WeightId{0}}, 0);
  stages_.add(EmbedOp{.out = kNormed, .table = WeightId{0}}, 1);
  stages_.add(NormOp{.out = kX, .in = kNormed, .accumulate = true}, 1);
  EXPECT_EQ(crossing(1), (Acts{kX}));
}

TEST_F(StagesTest, WhatAStageMakesItselfDoesNotCross) {
  stages_.add(EmbedOp{.out = kX, .table = WeightId{0}}, 0);
  stages_.add(EmbedOp{.out = kX, .table = WeightId{0}}, 1);
  stages_.add(NormOp{.out = kNormed, .in = kX}, 1);
  EXPECT_TRUE(crossing(1).empty());
}

TEST_F(StagesTest, TheFirstDeviceMayEndTheStep) {
  stages_.add(EmbedOp{.out = kX, .table = WeightId{0}}, 0);
  stages_.add(SelectRowsOp{.out = kHidden, .in = kX}, 1);
  stages_.add(LinearOp{.out = kNormed, .in = kHidden, .weight = WeightId{0}}, 0);
  ASSERT_EQ(stages_.all().size(), 3u);
  EXPECT_EQ(crossing(2), (Acts{kHidden}));
  EXPECT_EQ(stages_.last_rank(), 0u);
}

TEST_F(StagesTest, WhatRunsEverywhereRunsOnUntilPartsAreExchanged) {
  stages_.add_to_all();
  stages_.add_to_all();
  stages_.end_with(GatherParts{kX});
  stages_.add_to_all();
  ASSERT_EQ(stages_.all().size(), 2u);
  EXPECT_EQ(stages_.all()[0].n_ranks, 3u);
  EXPECT_EQ(stages_.all()[0].end_command, 2u);
  EXPECT_EQ(stages_.all()[0].end, StageEnd(GatherParts{kX}));
  EXPECT_EQ(stages_.all()[1].first_command, 2u);
  EXPECT_EQ(stages_.all()[1].end, StageEnd());
}

TEST_F(StagesTest, AnExchangeMayComeFirstAndAfterAnother) {
  stages_.end_with(ReceiveOp{.act = kX, .from = 0});
  stages_.end_with(ReceiveOp{.act = kNormed, .from = 0});
  stages_.add(NormOp{.out = kHidden, .in = kX}, std::nullopt);
  stages_.add(NormOp{.out = kX, .in = kHidden}, std::nullopt);
  stages_.end_with(SendOp{.act = kX, .to = 2});
  ASSERT_EQ(stages_.all().size(), 3u);
  EXPECT_EQ(stages_.all()[1].end_command, 0u);
  EXPECT_EQ(std::get<ReceiveOp>(stages_.all()[1].end).act, kNormed);
  EXPECT_EQ(stages_.all()[2].first_command, 0u);
  EXPECT_EQ(stages_.all()[2].end_command, 2u);
  EXPECT_EQ(std::get<SendOp>(stages_.all()[2].end).act, kX);
}

}  // namespace
}  // namespace realizar::cuda
