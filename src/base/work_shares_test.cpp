
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/thread_team.h"

namespace realizar {
namespace {

TEST(WorkShares, EveryItemIsDoneOnceWhoeverHelps) {
  for (const uint32_t n_members : {1u, 2u, 3u, 8u}) {
    ThreadTeam team(n_members);
    for (const uint32_t n : {0u, 1u, 2u, 7u, 100u, 1001u}) {
      const auto taken = std::make_unique<std::atomic<uint32_t>[]>(n_members);
      std::vector<std::atomic<uint32_t>> done(n);
      auto job = [&](uint32_t member) {
        share_work(taken.get(), n, member, n_members, [&](uint32_t i) { done[i].fetch_add(1); });
      };
      team.run(job);
      for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(done[i].load(), 1u) << i << " of " << n;
    }
  }
}

TEST(WorkShares, AMemberBeginsWithItsOwnRangeAndThenHelps) {
  std::atomic<uint32_t> taken[3] = {};
  std::vector<uint32_t> order;
  share_work(taken, 9, 1, 3, [&](uint32_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<uint32_t>{3, 4, 5, 6, 7, 8, 0, 1, 2}));
}

}  // namespace
}  // namespace realizar
