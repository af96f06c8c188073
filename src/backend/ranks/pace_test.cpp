#include "backend/ranks/pace.h"

#include <gtest/gtest.h>

namespace realizar::ranks {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Pace, SleepsGrowWithTheWait) {
  for (const Pace::Wait wait : {Pace::Wait::kForWork, Pace::Wait::kForHours}) {
    EXPECT_EQ(Pace::sleep_after(wait, microseconds(1999)), microseconds(0));
    EXPECT_EQ(Pace::sleep_after(wait, milliseconds(2)), microseconds(50));
    EXPECT_EQ(Pace::sleep_after(wait, milliseconds(20)), microseconds(200));
  }
}

TEST(Pace, AnIdleRankSleepsLonger) {
  EXPECT_EQ(Pace::sleep_after(Pace::Wait::kForHours, milliseconds(99)), microseconds(200));
  EXPECT_EQ(Pace::sleep_after(Pace::Wait::kForHours, milliseconds(100)), milliseconds(1));
  EXPECT_EQ(Pace::sleep_after(Pace::Wait::kForHours, milliseconds(1000)), milliseconds(2));
  EXPECT_EQ(Pace::sleep_after(Pace::Wait::kForWork, milliseconds(60'000)), microseconds(200));
}

}  // namespace
}  // namespace realizar::ranks
