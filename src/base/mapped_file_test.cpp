#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/result_checks.h"

namespace realizar {
namespace {

std::filesystem::path write_file(const std::string& name, const std::string& content) {
  const auto path = std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(MappedFile, GivesTheBytesOfTheFileAlsoAfterRelease) {
  const std::string content(100000, 'x');
  const auto path = write_file("rz_mapped", content);
  auto file = must(MappedFile::open(path));
  file.release(file.bytes());
  ASSERT_EQ(file.bytes().size(), content.size());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()), content);
  std::filesystem::remove(path);
}

TEST(MappedFile, RefusesWhatIsNotThereAndWhatIsNoFile) {
  EXPECT_EQ(MappedFile::open("/nonexistent/file").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::open(std::filesystem::temp_directory_path()).error().code, ErrorCode::kInvalidArgument);
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  const auto path = write_file("rz_empty", "");
  auto file = must(MappedFile::open(path));
  EXPECT_TRUE(file.bytes().empty());
  std::filesystem::remove(path);
}

constexpr size_t kPageBytes = 4096;

// A file of `n_pages` pages of 'x', mapped.
class AFileThatChanges : public testing::Test {
 protected:
  ~AFileThatChanges() override { remove_files(); }
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  MappedFile open(size_t n_pages) {
    path_ = write_file("rz_changes", std::string(n_pages * kPageBytes, 'x'));
    return std::move(MappedFile::open(path_)).value();
  }
  // The process of a death test has its own files, and its fixture is not destroyed.
  void remove_files() const {
    std::filesystem::remove(path_);
    std::filesystem::remove(other_path_);
  }
  static size_t n_letters(const MappedFile& file) {
    return static_cast<size_t>(std::ranges::count(file.bytes(), std::byte{'x'}));
  }

  std::filesystem::path path_, other_path_ = write_file("rz_stays", "as it was");
};

TEST_F(AFileThatChanges, ReadsAsZerosWhereItIsGoneOnEveryThread) {
  const MappedFile file = open(64);
  const auto other = std::move(MappedFile::open(other_path_)).value();
  EXPECT_TRUE(file.check().ok());
  std::filesystem::resize_file(file.path(), 8 * kPageBytes);
  std::vector<size_t> counts(4);
  std::vector<std::thread> threads;
  for (size_t& count : counts) threads.emplace_back([&] { count = n_letters(file); });
  for (std::thread& thread : threads) thread.join();
  for (const size_t count : counts) EXPECT_LE(count, 8 * kPageBytes);
  EXPECT_EQ(file.check().error().code, ErrorCode::kFormatError);
  EXPECT_TRUE(fails_with(file.check(), file.path()));
  EXPECT_TRUE(other.check().ok());
}

TEST_F(AFileThatChanges, TellsThatItIsShorterWhetherOrNotThatWasRead) {
  const MappedFile file = open(2);
  std::filesystem::resize_file(path_, kPageBytes);
  EXPECT_TRUE(fails_with(file.check(), "became shorter"));
}

TEST_F(AFileThatChanges, TellsTheReasonInPlaceOfWhatItLedTo) {
  MappedFile file = open(2);
  EXPECT_EQ(*file.checked(Result<int>(7)), 7);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(n_letters(file), 0u);
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.checked(Result<int>(7)).error().message, moved.check().error().message);
  EXPECT_EQ(moved.checked(Result<int>(invalid_argument("zeros"))).error().message, moved.check().error().message);
}

TEST_F(AFileThatChanges, TellsThatItWasWrittenToButNotThatItWasReplaced) {
  const MappedFile file = open(2);
  const auto fresh = write_file("rz_fresh", std::string(kPageBytes, 'y'));
  std::filesystem::rename(fresh, path_);
  EXPECT_EQ(n_letters(file), 2 * kPageBytes);
  EXPECT_TRUE(file.check().ok());
  const auto other = std::move(MappedFile::open(path_)).value();
  std::ofstream(path_, std::ios::binary | std::ios::app) << "more";
  EXPECT_EQ(other.check().error().code, ErrorCode::kFormatError);
}

TEST_F(AFileThatChanges, ReadsOfOtherMapsStillEndTheProcess) {
  const auto read_a_map_of_ones_own = [this] {
    const MappedFile file = open(2);
    std::FILE* own = std::fopen(path_.c_str(), "re");
    const void* map = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_PRIVATE, ::fileno(own), 0);
    std::filesystem::resize_file(path_, 0);
    remove_files();
    const int read = n_letters(file) == 0 ? *static_cast<const volatile char*>(map) : 1;
    std::_Exit(read);
  };
  EXPECT_DEATH(read_a_map_of_ones_own(), "");
  EXPECT_DEATH((open(2), remove_files(), std::raise(SIGBUS)), "");
}

TEST_F(AFileThatChanges, LeavesOtherFaultsToTheHandlerBefore) {
  const auto fail_with_a_handler = [this] {
    std::signal(SIGBUS, [](int) { std::_Exit(7); });
    const MappedFile file = open(2);
    std::filesystem::resize_file(path_, 0);
    remove_files();
    if (n_letters(file) == 0) std::raise(SIGBUS);
  };
  EXPECT_EXIT(fail_with_a_handler(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace realizar
