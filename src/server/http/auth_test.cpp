#include "server/http/auth.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace realizar::server {
namespace {

// printf hidden | sha256sum
constexpr const char* kHidden = "e564b4081d7a9ea4b00dada53bdae70c99b87b6fce869f0c3dd4d2bfa1e53e1c";

class KeyStoreTest : public ::testing::Test {
 protected:
  Result<KeyStore> read(const std::string& text) {
    std::ofstream(path_) << text;
    return KeyStore::read(path_);
  }
  ~KeyStoreTest() override { std::filesystem::remove(path_); }

  std::string path_ = testing::TempDir() + "realizar-keys-" + std::to_string(::getpid());
};

TEST_F(KeyStoreTest, FindsEachKeyByItsDigest) {
  const auto keys = read(std::string("# ours\n\n  first \r\nsha256:") + kHidden + "\nlast");
  ASSERT_TRUE(keys.ok());
  EXPECT_FALSE(keys->is_empty());
  EXPECT_EQ(keys->find("Bearer first"), digest_of("first"));
  EXPECT_EQ(keys->find("Bearer hidden"), digest_of("hidden"));
  EXPECT_EQ(keys->find("bearer last"), digest_of("last"));
  EXPECT_EQ(keys->find("Bearer   first"), digest_of("first"));
  EXPECT_EQ(keys->find_key("first"), digest_of("first"));
}

TEST_F(KeyStoreTest, AdminsAreThoseWhoseLinesSaySo) {
  auto keys = read(std::string("plain\nadmin boss\nadmin\t sha256:") + kHidden + "\nadministrator\nadmin\n");
  ASSERT_TRUE(keys.ok());
  for (const char* key : {"boss", "hidden"}) EXPECT_TRUE(keys->is_admin(*keys->find_key(key))) << key;
  for (const char* key : {"plain", "administrator", "admin"}) EXPECT_FALSE(keys->is_admin(*keys->find_key(key))) << key;
  EXPECT_FALSE(keys->find_key("admin boss"));
  EXPECT_TRUE(keys->has_admin());
  std::filesystem::remove(path_);
  EXPECT_FALSE(read("plain\n")->has_admin());
  KeyStore given;
  ASSERT_TRUE(given.add("plain").ok());
  ASSERT_TRUE(given.add("admin boss").ok());
  EXPECT_FALSE(given.add("two words").ok());
  EXPECT_TRUE(given.is_admin(digest_of("boss")));
  EXPECT_FALSE(given.is_admin(digest_of("plain")));
}

TEST_F(KeyStoreTest, AKeyIsTheSameOnAnotherLine) {
  const auto before = read("gone\nmine\n")->find("Bearer mine");
  EXPECT_NE(before, read("gone\nmine\n")->find("Bearer gone"));
  std::filesystem::remove(path_);
  EXPECT_EQ(read("mine\n")->find("Bearer mine"), before);
}

TEST_F(KeyStoreTest, FindsNothingElse) {
  const auto keys = read(std::string("first\nsha256:") + kHidden + "\n");
  ASSERT_TRUE(keys.ok());
  for (const std::string& header :
       {std::string(), std::string("first"), std::string("Bearer"), std::string("Bearer "), std::string("Bearer firs"),
        std::string("Bearer first "), std::string("Bearer   "), std::string("Bearer \tfirst"),
        std::string("Basic first"), std::string("Bearer sha256:") + kHidden, std::string("Bearer ") + kHidden,
        std::string("Bearer first\0", 13)}) {
    EXPECT_EQ(keys->find(header), std::nullopt) << header;
  }
  for (const std::string& key : {std::string(), std::string("firs"), "sha256:" + std::string(kHidden)}) {
    EXPECT_EQ(keys->find_key(key), std::nullopt) << key;
  }
}

TEST_F(KeyStoreTest, ReadsWhatEditorsOnWindowsWrite) {
  for (const std::string& text : {std::string("\xef\xbb\xbf"
                                              "first\r\nlast\r\n"),
                                  std::string("\xef\xbb\xbf# ours\r\nfirst\r\nlast")}) {
    const auto keys = read(text);
    ASSERT_TRUE(keys.ok()) << keys.error().message;
    EXPECT_EQ(keys->find("Bearer first"), digest_of("first"));
    EXPECT_EQ(keys->find("Bearer last"), digest_of("last"));
    EXPECT_EQ(keys->find("Bearer # ours"), std::nullopt);
  }
  const auto digest = read(std::string("\xef\xbb\xbfsha256:") + kHidden + "\r\n");
  ASSERT_TRUE(digest.ok()) << digest.error().message;
  EXPECT_EQ(digest->find("Bearer hidden"), digest_of("hidden"));
  const auto wide =
      read(std::string("\xff\xfe"
                       "f\0i\0\r\0\n\0",
                       10));
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().message.find(":1: a key has no control characters"), std::string::npos)
      << wide.error().message;
}

TEST_F(KeyStoreTest, RefusesADigestThatIsNone) {
  for (const std::string& digest : {std::string(), std::string(64, 'g'), std::string(63, 'a'), std::string(65, 'a')}) {
    const auto keys = read("good\nsha256:" + digest + "\n");
    ASSERT_FALSE(keys.ok()) << digest;
    EXPECT_EQ(keys.error().code, ErrorCode::kFormatError);
    EXPECT_NE(keys.error().message.find(":2:"), std::string::npos) << keys.error().message;
  }
}

TEST_F(KeyStoreTest, RefusesAFileWithoutKeys) {
  EXPECT_EQ(read("# none\n\n").error().code, ErrorCode::kFormatError);
  EXPECT_EQ(KeyStore::read(path_ + "-absent").error().code, ErrorCode::kNotFound);
}

TEST_F(KeyStoreTest, WaitsForNoPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(KeyStore::read(path_).error().message.find("a pipe without a writer"), std::string::npos);
  EXPECT_EQ(KeyStore::read("/dev/zero").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(KeyStore::read(testing::TempDir()).error().code, ErrorCode::kInvalidArgument);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "first\n", 6), 6);
  ::close(ends[1]);
  const auto keys = KeyStore::read("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  EXPECT_EQ(keys->find("Bearer first"), digest_of("first"));
}

TEST_F(KeyStoreTest, SaysWhatOthersMayDoWithTheKeys) {
  const std::string secret = "first\n", digest = std::string("sha256:") + kHidden + "\n";
  const auto exposure = [&](const std::string& text, int mode) {
    std::ofstream(path_) << text;
    EXPECT_EQ(::chmod(path_.c_str(), static_cast<mode_t>(mode)), 0);
    const auto keys = KeyStore::read(path_);
    return keys.ok() ? keys->exposure() : "unread";
  };
  EXPECT_EQ(exposure(secret, 0600), "");
  EXPECT_EQ(exposure(secret, 0660), "");
  EXPECT_NE(exposure(secret, 0644).find("may read the API keys"), std::string::npos);
  EXPECT_NE(exposure(secret, 0666).find("may change the API keys"), std::string::npos);
  EXPECT_NE(exposure(secret, 0666).find("mode 0666"), std::string::npos);
  EXPECT_EQ(exposure(digest, 0644), "");
  EXPECT_NE(exposure(digest, 0602).find("may change the API keys"), std::string::npos);
}

TEST(KeyStore, IsEmptyAtFirst) {
  EXPECT_TRUE(KeyStore().is_empty());
  EXPECT_EQ(KeyStore().find("Bearer x"), std::nullopt);
}

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
