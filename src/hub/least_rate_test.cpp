#include "hub/http.h"

#include <gtest/gtest.h>

namespace realizar::hub {
namespace {

using std::chrono::seconds;

TEST(LeastRateTest, IsMissedWhereTooLittleComesInAWindow) {
  const LeastRate::Time start{};
  LeastRate rate(600, seconds(60), start);
  uint64_t n_all = 0;
  for (int second = 1; second < 60; ++second) EXPECT_FALSE(rate.is_missed(++n_all, start + seconds(second))) << second;
  EXPECT_TRUE(rate.is_missed(++n_all, start + seconds(60)));
}

TEST(LeastRateTest, HoldsAsLongAsEnoughComes) {
  const LeastRate::Time start{};
  LeastRate rate(600, seconds(60), start);
  uint64_t n_all = 0;
  for (int second = 1; second < 1000; ++second) {
    n_all += 11;
    EXPECT_FALSE(rate.is_missed(n_all, start + seconds(second))) << second;
  }
  EXPECT_FALSE(rate.is_missed(n_all, start + seconds(1049)));
  EXPECT_TRUE(rate.is_missed(n_all, start + seconds(1060))) << "and then nothing more";
}

TEST(LeastRateTest, OfNoBytesIsNeverMissed) {
  const LeastRate::Time start{};
  LeastRate rate(0, seconds(60), start);
  EXPECT_FALSE(rate.is_missed(0, start + seconds(100000)));
}

}  // namespace
}  // namespace realizar::hub
