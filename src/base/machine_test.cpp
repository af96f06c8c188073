#include "base/machine.h"

#include <gtest/gtest.h>

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

TEST(Machine, ThisOneHasMemory) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.total_bytes, 0u);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
}

}  // namespace
}  // namespace realizar
