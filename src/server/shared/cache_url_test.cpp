#include "server/shared/cache_url.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace realizar::server {
namespace {

TEST(CacheUrl, AddressesAreReadPartByPart) {
  const auto plain = parse_cache_url("redis://cache.local").value();
  EXPECT_EQ(plain.host, "cache.local");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.db, 0u);
  EXPECT_FALSE(plain.has_tls);
  EXPECT_EQ(plain.shown(), "redis://cache.local:6379/0");
  const auto whole = parse_cache_url("rediss://prefixes@[::1]:7000/3").value();
  EXPECT_EQ(whole.user, "prefixes");
  EXPECT_EQ(whole.host, "::1");
  EXPECT_EQ(whole.port, 7000);
  EXPECT_EQ(whole.db, 3u);
  EXPECT_TRUE(whole.has_tls);
  EXPECT_EQ(whole.shown(), "rediss://[::1]:7000/3") << "without the user";
  EXPECT_EQ(parse_cache_url("REDIS://10.0.0.1:1/").value().port, 1);
}

TEST(CacheUrl, OthersAreRefusedWithWhatToWrite) {
  const auto message_of = [](const char* text) { return parse_cache_url(text).error().message; };
  EXPECT_NE(message_of("http://cache").find("expected redis://"), std::string::npos);
  EXPECT_NE(message_of("cache:6379").find("expected redis://"), std::string::npos);
  EXPECT_NE(message_of("redis://cache:0").find("port from 1 to 65535"), std::string::npos);
  EXPECT_NE(message_of("redis://cache:65536").find("port"), std::string::npos);
  EXPECT_NE(message_of("redis://cache:6379x").find("port"), std::string::npos);
  EXPECT_NE(message_of("redis://cache:").find("port"), std::string::npos);
  EXPECT_NE(message_of("redis://cache/one").find("number of a database"), std::string::npos);
  EXPECT_NE(message_of("redis://cache/1/2").find("number of a database"), std::string::npos);
  EXPECT_NE(message_of("redis://").find("no such host"), std::string::npos);
  EXPECT_NE(message_of("redis://a b").find("no such host"), std::string::npos);
  EXPECT_NE(message_of("redis://[::1").find("expected ]"), std::string::npos);
  EXPECT_NE(message_of("redis://@cache").find("user"), std::string::npos);
}

TEST(CacheUrl, APasswordInTheAddressIsRefusedAndNotRepeated) {
  for (const char* text : {"redis://user:secret@cache:6379", "redis://:secret@cache"}) {
    const auto url = parse_cache_url(text);
    ASSERT_FALSE(url.ok());
    EXPECT_NE(url.error().message.find("--cache-password-file"), std::string::npos);
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos);
  }
}

TEST(CachePassword, IsTheFirstLineOfItsFile) {
  const std::string path = testing::TempDir() + "cache_password." + std::to_string(::getpid());
  std::ofstream(path) << "  s3cr et \r\nmore\n";
  EXPECT_EQ(read_cache_password(path).value(), "s3cr et");
  std::ofstream(path) << "\nmore\n";
  EXPECT_NE(read_cache_password(path).error().message.find(path), std::string::npos);
  std::remove(path.c_str());
  EXPECT_EQ(read_cache_password(path).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace realizar::server
