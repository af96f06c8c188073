#include "base/thread_team.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace realizar {
namespace {

class ThreadTeamOf : public testing::TestWithParam<uint32_t> {};

TEST_P(ThreadTeamOf, RunsEveryMemberOncePerJob) {
  ThreadTeam team(GetParam());
  std::vector<uint32_t> runs(team.size());
  auto job = [&](uint32_t member) { ++runs[member]; };
  for (int i = 0; i < 100; ++i) team.run(job);
  EXPECT_EQ(runs, std::vector<uint32_t>(team.size(), 100));
}

TEST_P(ThreadTeamOf, ABarrierMakesWritesBeforeItVisible) {
  ThreadTeam team(GetParam());
  std::vector<uint32_t> written(team.size());
  std::vector<uint32_t> sums(team.size());
  auto job = [&](uint32_t member) {
    for (uint32_t round = 1; round <= 50; ++round) {
      written[member] = round;
      team.barrier(member);
      sums[member] += std::accumulate(written.begin(), written.end(), 0u);
      team.barrier(member);
    }
  };
  team.run(job);
  for (const uint32_t sum : sums) EXPECT_EQ(sum, team.size() * 50 * 51 / 2);
}

TEST_P(ThreadTeamOf, WhatAMemberThrowsEndsTheJobAloneAndReachesTheCaller) {
  ThreadTeam team(GetParam());
  for (uint32_t thrower = 0; thrower < team.size(); ++thrower) {
    std::atomic<uint32_t> n_through{0};
    auto job = [&](uint32_t member) {
      team.barrier(member);
      if (member == thrower) throw std::runtime_error("member " + std::to_string(member));
      team.barrier(member);
      ++n_through;
    };
    try {
      team.run(job);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "member " + std::to_string(thrower));
    }
    EXPECT_EQ(n_through, 0u) << "nobody goes on without the one that failed";
    std::vector<uint32_t> runs(team.size());
    auto next = [&](uint32_t member) {
      team.barrier(member);
      ++runs[member];
    };
    team.run(next);
    EXPECT_EQ(runs, std::vector<uint32_t>(team.size(), 1));
  }
}

// Eight or more members exceed the cores of a small machine: waiting must let the others run. Nine make two groups, one
// with a single member.
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadTeamOf, testing::Values(1, 2, 3, 8, 9, 20));

TEST(ThreadTeam, ATeamOfNoneIsTheCallerAlone) {
  ThreadTeam team(0);
  EXPECT_EQ(team.size(), 1u);
}

TEST(ThreadTeam, MembersTakeNoSignalsButTheirOwnFaults) {
  ThreadTeam team(3);
  std::atomic<int> n_blocked{0}, n_blocked_faults{0};
  auto job = [&](uint32_t) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    n_blocked += sigismember(&mask, SIGINT);
    for (const int fault : {SIGBUS, SIGSEGV, SIGILL, SIGFPE}) n_blocked_faults += sigismember(&mask, fault);
  };
  team.run(job);
  EXPECT_EQ(n_blocked, 2) << "the caller, member 0, keeps its own mask";
  EXPECT_EQ(n_blocked_faults, 0);
}

}  // namespace
}  // namespace realizar
