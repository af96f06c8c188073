#include "server/http/trusted_proxies.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

HttpRequest request_from(const std::string& peer, const std::vector<std::string>& forwarded = {},
                         const std::vector<std::string>& trusted = {"127.0.0.1", "10.0.0.0/8", "fd00::/7"}) {
  HttpRequest request;
  request.peer = peer;
  for (const std::string& line : forwarded) request.headers.emplace_back("X-FORWARDED-for", line);
  TrustedProxies::create(trusted).value().set_client(request);
  return request;
}

std::string client_of(const std::string& peer, const std::vector<std::string>& forwarded = {}) {
  return request_from(peer, forwarded).client;
}

TEST(TrustedProxies, TheLastAddressThatIsNoProxysIsTheClients) {
  EXPECT_EQ(client_of("10.0.0.1", {"9.9.9.9"}), "9.9.9.9");
  EXPECT_EQ(client_of("10.0.0.1", {"1.2.3.4, 9.9.9.9"}), "9.9.9.9");
  EXPECT_EQ(client_of("10.0.0.1", {"1.2.3.4,9.9.9.9 ,\t10.1.1.1,127.0.0.1"}), "9.9.9.9");
  EXPECT_EQ(client_of("10.0.0.1", {"1.2.3.4", "9.9.9.9, 10.0.0.2", "10.0.0.3"}), "9.9.9.9");
  EXPECT_EQ(client_of("fd12::1", {"2001:DB8:0::7"}), "2001:db8::7");
}

TEST(TrustedProxies, NobodyElseIsBelieved) {
  EXPECT_EQ(client_of("9.9.9.9", {"1.2.3.4"}), "9.9.9.9");
  EXPECT_EQ(client_of("127.0.0.2", {"1.2.3.4"}), "127.0.0.2");
  EXPECT_EQ(client_of("11.0.0.0", {"1.2.3.4"}), "11.0.0.0");
  EXPECT_EQ(client_of("", {"1.2.3.4"}), "");
  EXPECT_EQ(request_from("127.0.0.1", {"1.2.3.4"}, {}).client, "127.0.0.1");
}

TEST(TrustedProxies, WhereAllAreProxiesTheFirstIsTheClient) {
  EXPECT_EQ(client_of("10.0.0.1", {"10.0.0.9, 10.0.0.2"}), "10.0.0.9");
}

TEST(TrustedProxies, WithoutAnAddressTheProxyIsTheClient) {
  EXPECT_EQ(client_of("10.0.0.1"), "10.0.0.1");
  for (const char* entry : {"", "unknown", "_hidden", "1.2.3", "1.2.3.4.5", "1.2.3.4 5", "256.1.1.1", "[::1", "::1]",
                            ",", "1.2.3.4, x", "x, 10.0.0.2", "1.2.3.4,", "localhost", "for=1.2.3.4"}) {
    EXPECT_EQ(client_of("10.0.0.1", {entry}), "10.0.0.1") << entry;
  }
  EXPECT_EQ(client_of("10.0.0.1", {"x, 9.9.9.9"}), "9.9.9.9");  // forged entries are ignored
}

TEST(TrustedProxies, AnAddressHasOneSpelling) {
  EXPECT_EQ(client_of("10.0.0.1", {"9.9.9.9:4567"}), "9.9.9.9");
  EXPECT_EQ(client_of("10.0.0.1", {"::ffff:9.9.9.9"}), "9.9.9.9");
  EXPECT_EQ(client_of("10.0.0.1", {"[2001:db8::1]:443"}), "2001:db8::1");
  EXPECT_EQ(client_of("10.0.0.1", {"fe80::1%eth0"}), "fe80::1");
  EXPECT_EQ(client_of("::ffff:10.0.0.1", {"9.9.9.9"}), "9.9.9.9");
}

TEST(TrustedProxies, AClientBehindOneIsLocalIfItsOwnAddressIs) {
  EXPECT_TRUE(request_from("127.0.0.1").is_local);
  EXPECT_TRUE(request_from("127.0.0.1", {"127.0.0.1"}).is_local);
  EXPECT_TRUE(request_from("127.0.0.1", {"::1"}).is_local);
  EXPECT_TRUE(request_from("127.0.0.2", {"9.9.9.9"}).is_local);  // this proxy is not trusted
  EXPECT_FALSE(request_from("127.0.0.1", {"9.9.9.9"}).is_local);
  EXPECT_FALSE(request_from("127.0.0.1", {"127.0.0.1, 9.9.9.9"}).is_local);
  EXPECT_FALSE(request_from("127.0.0.1", {"unknown"}).is_local);
  EXPECT_FALSE(request_from("127.0.0.1", {""}).is_local);
  EXPECT_FALSE(request_from("10.0.0.1", {"127.0.0.1"}).is_local);  // the proxy's own machine is a different one
  EXPECT_FALSE(request_from("9.9.9.9", {"127.0.0.1"}).is_local);
}

TEST(TrustedProxies, NetworksEndAtAnyBit) {
  const auto has = [](const std::string& network, std::string_view address) {
    return TrustedProxies::create({network}).value().has(address);
  };
  EXPECT_TRUE(has("192.168.4.0/22", "192.168.7.255"));
  EXPECT_FALSE(has("192.168.4.0/22", "192.168.8.0"));
  EXPECT_TRUE(has("0.0.0.0/0", "9.9.9.9"));
  EXPECT_FALSE(has("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(has("::/0", "2001:db8::1"));
  EXPECT_TRUE(has("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(has("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(has("10.0.0.1/32", "10.0.0.1"));
  EXPECT_FALSE(has("10.0.0.1/32", "10.0.0.0"));
  EXPECT_FALSE(has("10.0.0.1", ""));
}

TEST(TrustedProxies, AnythingElseIsRefusedByName) {
  for (const char* text : {"", "proxy.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "/8",
                           "::/129", "10.0.0.1:80", "*"}) {
    const auto proxies = TrustedProxies::create({"127.0.0.1", text});
    ASSERT_FALSE(proxies.ok()) << text;
    EXPECT_EQ(proxies.error().subject, "trusted_proxy");
  }
}

}  // namespace
}  // namespace realizar::server
