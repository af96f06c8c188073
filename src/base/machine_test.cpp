#include "base/machine.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/temp_folder.h"

namespace realizar {
namespace {

TEST(Machine, TheProcessorsNameIsThatOfTheFirstCore) {
  EXPECT_EQ(parse_cpu_name("processor\t: 0\nmodel\t\t: 143\nmodel name\t: A CPU @ 2.0GHz\nmodel name\t: B\n"),
            "A CPU @ 2.0GHz");
  EXPECT_EQ(parse_cpu_name("processor\t: 0\nBogoMIPS\t: 50.00\n"), "unknown processor");
  EXPECT_EQ(parse_cpu_name(""), "unknown processor");
}

TEST(Machine, MemoryIsReadInKilobytes) {
  const HostMemory memory = parse_host_memory("MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:   8192 kB\n");
  EXPECT_EQ(memory.total_bytes, 16384u * 1024);
  EXPECT_EQ(memory.available_bytes, 8192u * 1024);
  EXPECT_EQ(parse_host_memory("MemAvailableX: 1 kB\n").available_bytes, 0u);
}

class GroupMemoryTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const { root_.put(name, text); }
  // Limit and use; {0, 0} if there is no limit.
  std::pair<uint64_t, uint64_t> read() const {
    const auto memory = group_memory(root_);
    return memory ? std::pair(memory->limit_bytes, memory->used_bytes) : std::pair<uint64_t, uint64_t>();
  }

  TempFolder root_;
};

TEST_F(GroupMemoryTest, IsNoneWhereNothingLimitsIt) {
  EXPECT_EQ(read(), std::pair(0ul, 0ul));
  put("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(read(), std::pair(0ul, 0ul));
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(read(), std::pair(0ul, 0ul));
  put("proc/self/cgroup", "9:name=systemd:/\n4:memory:/c\n0::/\n");
  put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read(), std::pair(0ul, 0ul));
}

TEST_F(GroupMemoryTest, LeavesOutWhatTheKernelTakesBack) {
  put("proc/self/cgroup", "0::/a\n");
  put("sys/fs/cgroup/a/memory.max", "1000000\n");
  EXPECT_EQ(read(), std::pair(1000000ul, 0ul));
  put("sys/fs/cgroup/a/memory.current", "700000\n");
  put("sys/fs/cgroup/a/memory.stat", "anon 90000\nfile_mapped 5\nfile 600000\nshmem 50000\n");
  EXPECT_EQ(read(), std::pair(1000000ul, 150000ul));
  EXPECT_EQ(group_memory(root_)->left_bytes(), 850000u);
}

TEST_F(GroupMemoryTest, TheGroupThatLeavesLeastCounts) {
  put("proc/self/cgroup", "0::/a/b/c\n");
  put("sys/fs/cgroup/a/b/c/memory.max", "900\n");
  put("sys/fs/cgroup/a/memory.max", "500\n");
  put("sys/fs/cgroup/other/memory.max", "100\n");
  EXPECT_EQ(read(), std::pair(500ul, 0ul));
  put("sys/fs/cgroup/a/b/memory.max", "600\n");
  put("sys/fs/cgroup/a/b/memory.current", "550\n");
  EXPECT_EQ(read(), std::pair(600ul, 550ul));
  put("sys/fs/cgroup/a/b/memory.current", "5500\n");
  EXPECT_EQ(group_memory(root_)->left_bytes(), 0u);
}

TEST_F(GroupMemoryTest, ReadsVersion1) {
  put("proc/self/cgroup", "5:devices:/x\n4:cpu,memory:/docker/1\n0::/x\n");
  put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "4000\n");
  put("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "3000\n");
  put("sys/fs/cgroup/memory/docker/1/memory.stat", "cache 1\ntotal_cache 2500\ntotal_shmem 100\n");
  EXPECT_EQ(read(), std::pair(4000ul, 600ul));
}

TEST_F(GroupMemoryTest, AContainersOwnGroupMayBeTheRoot) {
  put("proc/self/cgroup", "0::/../outside/docker/1\n");
  put("sys/fs/cgroup/memory.max", "4000\n");
  EXPECT_EQ(read(), std::pair(4000ul, 0ul));
  put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(read(), std::pair(4000ul, 0ul));
}

TEST(Machine, ThisOneHasMemory) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.total_bytes, 0u);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
}

}  // namespace
}  // namespace realizar
