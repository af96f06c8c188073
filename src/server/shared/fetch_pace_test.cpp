#include "server/shared/fetch_pace.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

using Clock = FetchPace::Clock;
using std::chrono::seconds;

const Clock::time_point kNow = Clock::time_point() + seconds(1000);

TEST(ComputeRate, IsWhatPromptsOfLateTook) {
  ComputeRate rate;
  EXPECT_DOUBLE_EQ(rate.ms_for(1000), 1000 * ComputeRate::kUnknownTokenMs);
  rate.observe(8, 800);
  EXPECT_DOUBLE_EQ(rate.ms_for(1000), 1000 * ComputeRate::kUnknownTokenMs) << "too short to tell";
  rate.observe(100, 200);
  EXPECT_DOUBLE_EQ(rate.ms_for(1000), 2000);
  for (int i = 0; i < 50; ++i) rate.observe(100, 400);
  EXPECT_NEAR(rate.ms_for(1000), 4000, 1);
}

TEST(FetchPace, NothingIsKnownAtFirst) {
  const FetchPace pace;
  EXPECT_EQ(pace.ms_for(2, 1 << 30, kNow), 0);
  EXPECT_GT(pace.bytes_in(1, kNow), size_t{1} << 40);
}

TEST(FetchPace, QuestionsAndBytesHaveTheirOwnShare) {
  FetchPace pace;
  pace.observe_trip(2, kNow);
  pace.observe_bytes(1000, 12, kNow);
  EXPECT_NEAR(pace.ms_for(1, 1000, kNow), 12, 1e-9);
  EXPECT_NEAR(pace.ms_for(3, 0, kNow), 6, 1e-9);
  EXPECT_EQ(pace.bytes_in(12, kNow), 1000u);
  EXPECT_EQ(pace.bytes_in(1, kNow), 0u);
}

TEST(FetchPace, ARedisThatWasSlowIsTriedAgain) {
  FetchPace pace;
  pace.observe_trip(800, kNow);
  EXPECT_NEAR(pace.ms_for(1, 0, kNow), 800, 1e-9);
  EXPECT_NEAR(pace.ms_for(1, 0, kNow + seconds(10)), 400, 1e-9);
  EXPECT_LT(pace.ms_for(1, 0, kNow + seconds(100)), 1);
  pace.observe_trip(1, kNow + seconds(100));
  EXPECT_LT(pace.ms_for(1, 0, kNow + seconds(100)), 1);
}

TEST(RecentNames, TheOldestAreForgottenBeyondTheBound) {
  RecentNames names(3);
  for (uint64_t name = 1; name <= 4; ++name) names.note(name, 10);
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(names.find(1), std::nullopt);
  EXPECT_EQ(names.find(4), 10);
  names.note(2, 20);
  EXPECT_EQ(names.find(2), 20) << "what was noted last";
  names.note(5, 10);
  EXPECT_EQ(names.find(2), std::nullopt) << "in its old place";
  EXPECT_EQ(names.size(), 3u);
}

}  // namespace
}  // namespace realizar::server
