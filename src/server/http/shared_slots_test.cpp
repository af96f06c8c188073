#include "server/http/shared_slots.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace realizar::server {
namespace {

// An activity that ends as soon as it has to give way.
struct Running {
  uint64_t tenant;
  SharedSlots::SlotPtr slot;
  bool gave_way = false;
};
using RunningPtr = std::unique_ptr<Running>;

RunningPtr begin(SharedSlots& slots, uint64_t tenant) {
  auto running = std::make_unique<Running>(Running{tenant, nullptr});
  running->slot = slots.take(tenant, [one = running.get()] { one->gave_way = true; });
  return running;
}

TEST(SharedSlots, OneTenantMayHaveThemAll) {
  const auto slots = SharedSlots::create(3);
  std::vector<RunningPtr> running;
  for (int i = 0; i < 3; ++i) running.push_back(begin(*slots, 1));
  EXPECT_NE(running.back()->slot, nullptr);
  EXPECT_EQ(begin(*slots, 1)->slot, nullptr);
  running.pop_back();
  EXPECT_NE(begin(*slots, 1)->slot, nullptr);
}

TEST(SharedSlots, TheNewestOfWhoeverHasMostGivesWay) {
  const auto slots = SharedSlots::create(4);
  const RunningPtr a1 = begin(*slots, 1), b = begin(*slots, 2), a2 = begin(*slots, 1), a3 = begin(*slots, 1);
  const RunningPtr c = begin(*slots, 3);
  EXPECT_NE(c->slot, nullptr);
  EXPECT_TRUE(a3->gave_way);
  EXPECT_FALSE(a1->gave_way || a2->gave_way || b->gave_way);
  // With three tenants a share is one slot; a tenant with one has no claim to more.
  EXPECT_EQ(begin(*slots, 3)->slot, nullptr);
  EXPECT_EQ(begin(*slots, 2)->slot, nullptr);
}

TEST(SharedSlots, APlaceThatGaveWayIsGivenBackOnce) {
  const auto slots = SharedSlots::create(2);
  RunningPtr a1 = begin(*slots, 1), a2 = begin(*slots, 1);
  const RunningPtr b = begin(*slots, 2);
  ASSERT_TRUE(a2->gave_way);
  a2.reset();
  EXPECT_EQ(slots->n_taken(), 2u);
  a1.reset();
  EXPECT_EQ(slots->n_taken(), 1u);
}

TEST(SharedSlots, NobodyBelowTheirShareIsTurnedAway) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const uint32_t n_slots = 1 + random() % 16;
    const auto slots = SharedSlots::create(n_slots);
    std::vector<RunningPtr> running;
    for (int step = 0; step < 200; ++step) {
      std::erase_if(running, [&](const RunningPtr& one) { return one->gave_way || random() % 16 == 0; });
      std::map<uint64_t, uint32_t> n_of;
      for (const RunningPtr& one : running) ++n_of[one->tenant];
      const uint64_t tenant = random() % 3 == 0 ? random() % 5 : 0;
      const bool is_below = n_of[tenant]++ < n_slots / n_of.size();
      RunningPtr one = begin(*slots, tenant);
      EXPECT_TRUE(!is_below || one->slot != nullptr) << "seed " << seed << ", step " << step;
      if (one->slot != nullptr) running.push_back(std::move(one));
      EXPECT_LE(slots->n_taken(), n_slots);
    }
  }
}

}  // namespace
}  // namespace realizar::server
