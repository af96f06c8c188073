#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace realizar {
namespace {

TEST(Exposure, IsWhatOthersMayDo) {
  const std::string path = testing::TempDir() + "realizar-exposure-" + std::to_string(::getpid());
  std::ofstream(path) << "secret";
  const auto told = [&](mode_t mode, bool holds_secrets) {
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return exposure_of(path, "the keys", holds_secrets);
  };
  EXPECT_EQ(told(0600, true), "");
  EXPECT_EQ(told(0640, true), "");
  EXPECT_EQ(told(0644, false), "");
  EXPECT_EQ(told(0644, true),
            "every user of this machine may read the keys in " + path + " (mode 0644); chmod 600 ends that");
  EXPECT_NE(told(0606, true).find("may change"), std::string::npos);
  EXPECT_NE(told(0602, false).find("may change"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(exposure_of(path, "the keys", true), "");
}

}  // namespace
}  // namespace realizar
