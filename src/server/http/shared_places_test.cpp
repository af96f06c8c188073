#include "server/http/shared_places.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace realizar::server {
namespace {

// An activity that ends as soon as it has to give way.
struct Running {
  uint64_t tenant;
  SharedPlaces::PlacePtr place;
  bool gave_way = false;
};
using RunningPtr = std::unique_ptr<Running>;

RunningPtr begin(SharedPlaces& places, uint64_t tenant) {
  auto running = std::make_unique<Running>(Running{tenant, nullptr});
  running->place = places.take(tenant, [one = running.get()] { one->gave_way = true; });
  return running;
}

TEST(SharedPlaces, OneTenantMayHaveThemAll) {
  const auto places = SharedPlaces::create(3);
  std::vector<RunningPtr> running;
  for (int i = 0; i < 3; ++i) running.push_back(begin(*places, 1));
  EXPECT_NE(running.back()->place, nullptr);
  EXPECT_EQ(begin(*places, 1)->place, nullptr);
  running.pop_back();
  EXPECT_NE(begin(*places, 1)->place, nullptr);
}

TEST(SharedPlaces, TheNewestOfWhoeverHasMostGivesWay) {
  const auto places = SharedPlaces::create(4);
  const RunningPtr a1 = begin(*places, 1), b = begin(*places, 2), a2 = begin(*places, 1), a3 = begin(*places, 1);
  const RunningPtr c = begin(*places, 3);
  EXPECT_NE(c->place, nullptr);
  EXPECT_TRUE(a3->gave_way);
  EXPECT_FALSE(a1->gave_way || a2->gave_way || b->gave_way);
  // With three tenants a share is one place; a tenant with one has no claim to more.
  EXPECT_EQ(begin(*places, 3)->place, nullptr);
  EXPECT_EQ(begin(*places, 2)->place, nullptr);
}

TEST(SharedPlaces, APlaceThatGaveWayIsGivenBackOnce) {
  const auto places = SharedPlaces::create(2);
  RunningPtr a1 = begin(*places, 1), a2 = begin(*places, 1);
  const RunningPtr b = begin(*places, 2);
  ASSERT_TRUE(a2->gave_way);
  a2.reset();
  EXPECT_EQ(places->n_taken(), 2u);
  a1.reset();
  EXPECT_EQ(places->n_taken(), 1u);
}

TEST(SharedPlaces, NobodyBelowTheirShareIsTurnedAway) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const uint32_t n_places = 1 + random() % 16;
    const auto places = SharedPlaces::create(n_places);
    std::vector<RunningPtr> running;
    for (int step = 0; step < 200; ++step) {
      std::erase_if(running, [&](const RunningPtr& one) { return one->gave_way || random() % 16 == 0; });
      std::map<uint64_t, uint32_t> n_of;
      for (const RunningPtr& one : running) ++n_of[one->tenant];
      const uint64_t tenant = random() % 3 == 0 ? random() % 5 : 0;
      const bool is_below = n_of[tenant]++ < n_places / n_of.size();
      RunningPtr one = begin(*places, tenant);
      EXPECT_TRUE(!is_below || one->place != nullptr) << "seed " << seed << ", step " << step;
      if (one->place != nullptr) running.push_back(std::move(one));
      EXPECT_LE(places->n_taken(), n_places);
    }
  }
}

}  // namespace
}  // namespace realizar::server
