#include "server/call/answer_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace realizar::server {
namespace {

using Grown = AnswerRoom::Grown;
constexpr uint64_t kFreeOfAnswer = AnswerRoom::kFreeBytes;

// A call that ends at once when it must give way.
struct FakeCall {
  FakeCall(AnswerRoom& room, uint64_t tenant)
      : share(std::make_unique<AnswerRoom::Share>(room, tenant, [this] { share.reset(); })) {}
  std::unique_ptr<AnswerRoom::Share> share;
};

TEST(AnswerRoom, ShortAnswersTakeNone) {
  AnswerRoom room(1000, kFreeOfAnswer + 1000);
  std::vector<std::unique_ptr<FakeCall>> calls;
  for (uint64_t i = 0; i < 100; ++i) {
    calls.push_back(std::make_unique<FakeCall>(room, i % 3));
    EXPECT_EQ(calls.back()->share->grow_to(kFreeOfAnswer), Grown::kYes);
  }
  EXPECT_EQ(room.n_held_bytes(), 0u);
}

TEST(AnswerRoom, OneIsBoundedAndGivesBackWhatItHad) {
  AnswerRoom room(1000, kFreeOfAnswer + 600);
  FakeCall one(room, 1);
  EXPECT_EQ(one.share->grow_to(kFreeOfAnswer + 600), Grown::kYes);
  EXPECT_EQ(one.share->grow_to(kFreeOfAnswer + 601), Grown::kTooLarge);
  EXPECT_EQ(room.n_held_bytes(), 600u);
  EXPECT_EQ(room.take_n_freed_bytes(), 0u);
  one.share.reset();
  EXPECT_EQ(room.n_held_bytes(), 0u);
  EXPECT_EQ(room.take_n_freed_bytes(), 600u);
  EXPECT_EQ(room.take_n_freed_bytes(), 0u);
}

TEST(AnswerRoom, TheNewestOfATenantGivesWayToItsOlderOnes) {
  AnswerRoom room(1000, kFreeOfAnswer + 1000);
  FakeCall oldest(room, 1), older(room, 1), newest(room, 1);
  EXPECT_EQ(newest.share->grow_to(kFreeOfAnswer + 400), Grown::kYes);
  EXPECT_EQ(older.share->grow_to(kFreeOfAnswer + 400), Grown::kYes);
  EXPECT_EQ(oldest.share->grow_to(kFreeOfAnswer + 300), Grown::kYes);
  EXPECT_EQ(newest.share, nullptr);
  FakeCall last(room, 1);
  EXPECT_EQ(last.share->grow_to(kFreeOfAnswer + 500), Grown::kNoRoom);
  EXPECT_NE(older.share, nullptr);
  EXPECT_NE(oldest.share, nullptr);
}

TEST(AnswerRoom, ATenantBelowItsShareGetsRoomFromTheOneThatHoldsMost) {
  AnswerRoom room(1000, kFreeOfAnswer + 1000);
  FakeCall first(room, 1), second(room, 1), other(room, 2);
  EXPECT_EQ(first.share->grow_to(kFreeOfAnswer + 500), Grown::kYes);
  EXPECT_EQ(second.share->grow_to(kFreeOfAnswer + 500), Grown::kYes);
  EXPECT_EQ(other.share->grow_to(kFreeOfAnswer + 100), Grown::kYes);
  EXPECT_EQ(second.share, nullptr);
  EXPECT_NE(first.share, nullptr);
  EXPECT_EQ(other.share->grow_to(kFreeOfAnswer + 500), Grown::kYes);
  // Beyond its share it has no claim.
  EXPECT_EQ(other.share->grow_to(kFreeOfAnswer + 501), Grown::kNoRoom);
  EXPECT_NE(first.share, nullptr);
}

TEST(AnswerRoom, WhatGivesWayMayEndLater) {
  AnswerRoom room(1000, kFreeOfAnswer + 1000);
  int n_told = 0;
  auto slow = std::make_unique<AnswerRoom::Share>(room, 1, [&] { ++n_told; });
  EXPECT_EQ(slow->grow_to(kFreeOfAnswer + 1000), Grown::kYes);
  FakeCall other(room, 2);
  EXPECT_EQ(other.share->grow_to(kFreeOfAnswer + 200), Grown::kYes);
  EXPECT_EQ(other.share->grow_to(kFreeOfAnswer + 400), Grown::kYes);
  EXPECT_EQ(n_told, 1);
  EXPECT_EQ(slow->grow_to(kFreeOfAnswer + 1001 - 1), Grown::kYes);
  slow.reset();
  EXPECT_EQ(room.n_held_bytes(), 400u);
}

// Whatever others do, a tenant below its share can grow up to it.
TEST(AnswerRoom, RandomTenantsAlwaysReachTheirShares) {
  constexpr uint64_t kRoom = 10000, kTenants = 4;
  AnswerRoom room(kRoom, kFreeOfAnswer + kRoom);
  std::mt19937 random(3);
  std::vector<std::unique_ptr<FakeCall>> calls;
  std::vector<uint64_t> sizes;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 4 == 0) {
      calls.push_back(std::make_unique<FakeCall>(room, random() % kTenants));
      sizes.push_back(0);
    }
    if (calls.empty()) continue;
    const size_t i = random() % calls.size();
    if (calls[i]->share == nullptr || random() % 20 == 0) {
      calls.erase(calls.begin() + static_cast<ptrdiff_t>(i));
      sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(i));
    } else if (calls[i]->share->grow_to(kFreeOfAnswer + sizes[i] + random() % 2000) == Grown::kNoRoom) {
      calls[i]->share.reset();
    }
    ASSERT_LE(room.n_held_bytes(), kRoom);
    if (step % 50 != 0) continue;
    FakeCall small(room, kTenants + 1);
    ASSERT_EQ(small.share->grow_to(kFreeOfAnswer + kRoom / (kTenants + 1)), Grown::kYes) << step;
  }
}

}  // namespace
}  // namespace realizar::server
