#include "cli/input_history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

class InputHistory : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> read() {
    auto entries = read_history(path_);
    EXPECT_TRUE(entries.ok());
    return entries.ok() ? *entries : std::vector<std::string>();
  }
  mode_t mode(const fs::path& path) {
    struct stat info {};
    ::stat(path.c_str(), &info);
    return info.st_mode & 0777;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("rz_history_" + std::to_string(::getpid()));
  fs::path path_ = folder_ / "state/realizar/history";
};

TEST_F(InputHistory, GivesBackWhatWasTypedWithItsLines) {
  EXPECT_TRUE(read().empty());
  const std::vector<std::string> typed = {"What is é?", "two\nlines", "\"quoted\" \\ \x01"};
  for (const std::string& entry : typed) ASSERT_TRUE(append_history(path_, entry).ok());
  EXPECT_EQ(read(), typed);
}

TEST_F(InputHistory, IsForItsOwnersEyesAlone) {
  const mode_t mask = ::umask(0);
  ASSERT_TRUE(append_history(path_, "secret").ok());
  ::umask(mask);
  EXPECT_EQ(mode(path_), 0600u);
  EXPECT_EQ(mode(path_.parent_path()), 0700u);
  fs::permissions(path_, fs::perms::all);
  ASSERT_TRUE(append_history(path_, "another").ok());
  EXPECT_EQ(mode(path_), 0600u);
}

TEST_F(InputHistory, StaysBounded) {
  for (size_t i = 0; i <= 2 * kMaxHistoryEntries; ++i) ASSERT_TRUE(append_history(path_, std::to_string(i)).ok());
  const auto entries = read();
  ASSERT_EQ(entries.size(), kMaxHistoryEntries);
  EXPECT_EQ(entries.back(), std::to_string(2 * kMaxHistoryEntries));
  EXPECT_EQ(mode(path_), 0600u);
  std::ifstream file(path_);
  size_t n_lines = 0;
  for (std::string line; std::getline(file, line);) ++n_lines;
  EXPECT_EQ(n_lines, kMaxHistoryEntries);
  ASSERT_TRUE(append_history(path_, std::string(kMaxHistoryEntryBytes + 1, 'x')).ok());
  EXPECT_EQ(read(), entries);
}

TEST_F(InputHistory, PassesOverDamagedLines) {
  ASSERT_TRUE(append_history(path_, "one").ok());
  std::ofstream(path_, std::ios::app) << "{\"a\": 1}\nno JSON\n\n\"cut of\n";
  ASSERT_TRUE(append_history(path_, "two").ok());
  EXPECT_EQ(read(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(InputHistory, IsNotWrittenToWhatIsNoFile) {
  fs::create_directories(path_.parent_path());
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(append_history(path_, "one").ok());
  EXPECT_FALSE(read_history(path_).ok());
}

}  // namespace
}  // namespace realizar::cli
