#include "server/http/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace realizar::server {
namespace {

TEST(FileLimit, IsRaisedAsFarAsTheSystemLets) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 40;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_file_limit(), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(FileLimit, LeavesTheProcessItsOwnFiles) {
  EXPECT_EQ(max_connections_under(1024), 960u);
  EXPECT_EQ(max_connections_under(64), 48u);
  EXPECT_EQ(max_connections_under(1), 1u);
  EXPECT_EQ(max_connections_under(UINT64_MAX), UINT32_MAX);
}

}  // namespace
}  // namespace realizar::server
