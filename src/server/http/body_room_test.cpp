#include "server/http/body_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace realizar::server {
namespace {

constexpr size_t kFree = BodyRoom::kFreeBytes;

TEST(BodyRoom, SmallBodiesTakeNoRoom) {
  const auto room = std::make_shared<BodyRoom>(1000, 1000);
  BodyRoom::Share large(room, "a");
  EXPECT_TRUE(large.grow_to(kFree + 1000));
  std::vector<BodyRoom::Share> small;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(small.emplace_back(room, "a").grow_to(kFree));
  EXPECT_EQ(room->n_held_bytes(), 1000u);
}

TEST(BodyRoom, RefusesWhatDoesNotFitAndIsGivenBack) {
  const auto room = std::make_shared<BodyRoom>(1000, 400);
  {
    BodyRoom::Share first(room, "a"), second(room, "b"), third(room, "c");
    EXPECT_TRUE(first.grow_to(kFree + 300));
    EXPECT_TRUE(first.grow_to(kFree + 400));
    EXPECT_TRUE(second.grow_to(kFree + 400));
    EXPECT_FALSE(third.grow_to(kFree + 201));
    EXPECT_EQ(room->n_held_bytes(), 800u);
    EXPECT_TRUE(third.grow_to(kFree + 200));
    BodyRoom::Share moved = std::move(third);
    EXPECT_EQ(room->n_held_bytes(), 1000u);
  }
  EXPECT_EQ(room->n_held_bytes(), 0u);
}

TEST(BodyRoom, LeavesHalfToOtherClients) {
  const auto room = std::make_shared<BodyRoom>(1000, 100);
  BodyRoom::Share first(room, "a"), second(room, "a"), other(room, "b");
  EXPECT_TRUE(first.grow_to(kFree + 300));
  EXPECT_FALSE(second.grow_to(kFree + 201));
  EXPECT_TRUE(second.grow_to(kFree + 200));
  EXPECT_TRUE(other.grow_to(kFree + 500));
}

TEST(BodyRoom, OneBodyOfTheLargestSizeFitsInAnyCase) {
  const auto room = std::make_shared<BodyRoom>(1000, 1000);
  BodyRoom::Share share(room, "a");
  EXPECT_TRUE(share.grow_to(1000));
  EXPECT_TRUE(share.grow_to(kFree + 1000));
}

}  // namespace
}  // namespace realizar::server
