#include "server/call/tenant.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

TEST(Tenant, IsTheKeys) {
  EXPECT_EQ(tenant_of(digest_of("a")), tenant_of(digest_of("a")));
  EXPECT_NE(tenant_of(digest_of("a")), tenant_of(digest_of("b")));
}

TEST(Tenant, WithoutKeysIsTheAddress) {
  EXPECT_NE(tenant_of("192.0.2.1"), tenant_of("192.0.2.2"));
  EXPECT_NE(tenant_of("::ffff:192.0.2.1"), tenant_of("::ffff:192.0.2.2"));
  EXPECT_NE(tenant_of("2001:db8:0:1::1"), tenant_of("2001:db8:0:2::1"));
  EXPECT_EQ(tenant_of("2001:db8:0:1::1"), tenant_of("2001:db8:0:1:2:3:4:5")) << "one network";
}

}  // namespace
}  // namespace realizar::server
