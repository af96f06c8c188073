#include "base/machine.h"

#include <gtest/gtest.h>

#include "base/temp_folder.h"

namespace realizar {
namespace {

cpu_set_t set_of(std::initializer_list<size_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const size_t cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

std::vector<size_t> members_of(const cpu_set_t& set) {
  std::vector<size_t> cpus;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

class MemoryNodes : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& cpus) { folder_.put(name + "/cpulist", cpus + "\n"); }
  TempFolder folder_;
};

TEST_F(MemoryNodes, AreThoseWithUsableProcessorsInOrder) {
  add("node10", "12-13");
  add("node2", "0-2,8");
  add("node3", "4");
  add("node4", "");
  add("possible", "0-13");
  const auto nodes = memory_nodes(set_of({1, 2, 8, 12}), folder_);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(members_of(nodes[0]), (std::vector<size_t>{1, 2, 8}));
  EXPECT_EQ(members_of(nodes[1]), (std::vector<size_t>{12}));
}

TEST_F(MemoryNodes, AreNoneWhereTheSystemDoesNotTell) {
  EXPECT_TRUE(memory_nodes(set_of({0, 1}), folder_ / "absent").empty());
}

TEST(PlaceMembers, GivesNodesAsManyAsTheyHaveProcessors) {
  const std::vector<cpu_set_t> nodes = {set_of({0, 1, 2, 3, 4, 5}), set_of({6, 7})};
  const auto places = place_members(nodes, 4);
  ASSERT_EQ(places.size(), 4u);
  for (const size_t member : {0, 1, 2}) EXPECT_TRUE(CPU_EQUAL(&places[member], &nodes[0])) << member;
  EXPECT_TRUE(CPU_EQUAL(&places[3], &nodes[1]));
}

TEST(PlaceMembers, LeavesOneNodeToTheSystem) {
  EXPECT_TRUE(place_members({set_of({0, 1})}, 2).empty());
  EXPECT_TRUE(place_members({}, 2).empty());
}

}  // namespace
}  // namespace realizar
