#include "base/unfinished.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/temp_folder.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

class Unfinished : public testing::Test {
 protected:
  static fs::path made(const fs::path& path) {
    std::ofstream(path) << "half";
    return path;
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.insert(entry.path().filename().string());
    return found;
  }

  TempFolder folder_;
};

TEST_F(Unfinished, NamesAreNeverTheSameAndFitIntoAnyFolder) {
  std::set<fs::path> paths;
  for (const size_t n_bytes : {1, 200, 232, 233, 255}) {
    for (int i = 0; i < 100; ++i) {
      const fs::path path = unfinished_path(folder_ / std::string(n_bytes, 'x'));
      EXPECT_EQ(path.parent_path(), folder_);
      EXPECT_LE(path.filename().string().size(), 255u);
      EXPECT_TRUE(is_unfinished_name(path.filename().string())) << path;
      EXPECT_TRUE(paths.insert(path).second) << path;
    }
  }
  EXPECT_FALSE(unfinished_path("name").has_parent_path());
}

TEST_F(Unfinished, OtherPeoplesNamesAreNoneOfThem) {
  for (const char* name : {"", ".part", ".0123456789abcdef.part", "..0123456789abcdef.part", "x.0123456789abcdef.part",
                           ".x.0123456789abcde.part", ".x.0123456789ABCDEF.part", ".x.0123456789abcdef.part1",
                           ".x-0123456789abcdef.part", "model.gguf.part1", ".x.0123456789abcdeg.part"}) {
    EXPECT_FALSE(is_unfinished_name(name)) << name;
  }
  EXPECT_TRUE(is_unfinished_name(".x.0123456789abcdef.part"));
}

TEST_F(Unfinished, ASweepTakesWhatNobodyWritesAndNothingElse) {
  const fs::path target = folder_ / "model", other = folder_ / "model.b";
  const fs::path left = made(unfinished_path(target)), of_other = made(unfinished_path(other));
  const fs::path left_folder = unfinished_path(target), held_folder = unfinished_path(target);
  fs::create_directories(left_folder / "inner");
  made(left_folder / "inner" / "weights");
  fs::create_directory(held_folder);
  const fs::path held = made(unfinished_path(target)), link = unfinished_path(target), pipe = unfinished_path(target);
  fs::create_symlink(made(folder_ / "elsewhere"), link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor file_lock(::open(held.c_str(), O_WRONLY)), folder_lock(::open(held_folder.c_str(), O_RDONLY));
  ASSERT_TRUE(hold_unfinished(file_lock) && hold_unfinished(folder_lock));
  remove_abandoned_of(target);
  const auto name_of = [](const fs::path& path) { return path.filename().string(); };
  EXPECT_EQ(names(), (std::set<std::string>{name_of(of_other), name_of(held), name_of(held_folder), name_of(link),
                                            name_of(pipe), "elsewhere"}));
  std::set<fs::path> removed;
  const auto remove = [&](const fs::path& path) {
    removed.insert(path);
    return invalid_argument("it stays");
  };
  EXPECT_EQ(remove_abandoned(folder_, remove).error().message, "it stays");
  EXPECT_EQ(removed, std::set<fs::path>{of_other});
  EXPECT_TRUE(remove_abandoned(folder_ / "none", remove).ok());
}

TEST_F(Unfinished, AWriterSeesThatASweepWasFaster) {
  const fs::path path = made(unfinished_path(folder_ / "model"));
  const FileDescriptor writer(::open(path.c_str(), O_WRONLY));
  {
    const FileDescriptor lock(::open(path.c_str(), O_RDONLY));
    ASSERT_TRUE(hold_unfinished(lock));
    EXPECT_FALSE(hold_unfinished(writer)) << "locked by another";
  }
  fs::remove(path);
  EXPECT_FALSE(hold_unfinished(writer)) << "removed";
}

}  // namespace
}  // namespace realizar
