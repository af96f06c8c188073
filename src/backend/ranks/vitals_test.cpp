#include "backend/ranks/vitals.h"

#include <gtest/gtest.h>

namespace realizar::ranks {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Polls every 20 ms.
void pass(Vitals& vitals, milliseconds time) {
  for (milliseconds passed(0); passed < time; passed += milliseconds(20)) vitals.pass(milliseconds(20));
}

TEST(Vitals, ASilentPeerIsLost) {
  Vitals vitals(2, seconds(5));
  pass(vitals, milliseconds(4980));
  EXPECT_FALSE(vitals.lost({}));
  vitals.heard(0);
  pass(vitals, milliseconds(20));
  const auto lost = vitals.lost({});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->peer, 1u);
  EXPECT_EQ(lost->fault, Vitals::Fault::kSilent);
  vitals.heard(1);
  EXPECT_FALSE(vitals.lost({}));
}

TEST(Vitals, APeerIsGoneSoonOnceTheJobIsBeingEnded) {
  Vitals vitals(3, seconds(5));
  pass(vitals, milliseconds(180));
  EXPECT_FALSE(vitals.lost({.is_killed = true}));
  vitals.heard(0);
  vitals.heard(1);
  pass(vitals, milliseconds(20));
  EXPECT_FALSE(vitals.lost({}));
  const auto lost = vitals.lost({.is_killed = true});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->peer, 2u);
  EXPECT_EQ(lost->fault, Vitals::Fault::kGone);
}

TEST(Vitals, TimeWithoutALookIsNobodysSilence) {
  Vitals vitals(1, seconds(5));
  for (int i = 0; i < 49; ++i) vitals.pass(std::chrono::hours(1));
  EXPECT_FALSE(vitals.lost({}));
  vitals.pass(std::chrono::hours(1));
  EXPECT_TRUE(vitals.lost({}));
}

TEST(Vitals, APeerThatHasLeftIsMissedAfterAWhile) {
  Vitals vitals(2, seconds(5));
  vitals.left(0);
  EXPECT_TRUE(vitals.has_left(0));
  EXPECT_FALSE(vitals.have_all_left());
  for (int i = 0; i < 249; ++i) {
    pass(vitals, milliseconds(20));
    vitals.heard(0);
    vitals.heard(1);
  }
  EXPECT_FALSE(vitals.lost({.is_killed = true}));
  EXPECT_EQ(vitals.left_for(0), milliseconds(4980));
  EXPECT_EQ(vitals.left_for(1), milliseconds(0));
  pass(vitals, milliseconds(20));
  const auto lost = vitals.lost({});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->peer, 0u);
  EXPECT_EQ(lost->fault, Vitals::Fault::kLeft);
  EXPECT_FALSE(vitals.lost({.is_at_end = true}));
  vitals.left(1);
  EXPECT_TRUE(vitals.have_all_left());
}

TEST(Vitals, SilenceOfAPeerThatHasLeftEndsTheWaitForIt) {
  Vitals vitals(1, seconds(5));
  vitals.left(0);
  pass(vitals, milliseconds(4980));
  EXPECT_FALSE(vitals.is_any_silent());
  pass(vitals, milliseconds(20));
  EXPECT_TRUE(vitals.is_any_silent());
  EXPECT_TRUE(Vitals(0, seconds(5)).have_all_left());
}

}  // namespace
}  // namespace realizar::ranks
