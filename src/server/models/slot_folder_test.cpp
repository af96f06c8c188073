#include "server/models/prefix_folders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/unfinished.h"

namespace realizar::server {
namespace {

namespace fs = std::filesystem;

class SlotFolderTest : public ::testing::Test {
 protected:
  ~SlotFolderTest() override { fs::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "realizar-slots-" + std::to_string(::getpid());
};

TEST_F(SlotFolderTest, TakesNamesOfFilesAlone) {
  for (const char* name : {"a", "slot1.bin", "A-b_c.2", "x..y"}) EXPECT_TRUE(check_slot_file_name(name).ok()) << name;
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../a"), std::string("a/b"), std::string("/a"),
        std::string("a\\b"), std::string(".key-00"), std::string("a b"), std::string("a\0b", 3),
        std::string("\xc3\xa4"), std::string(129, 'a')}) {
    EXPECT_FALSE(check_slot_file_name(name).ok()) << name;
  }
}

TEST_F(SlotFolderTest, KeepsKeysApart) {
  const auto folder = std::move(*SlotFolder::open(folder_, 100));
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(folder->path_of({}, "a"), folder_ + "/a");
  const std::string mine = folder->path_of(KeyDigest{1}, "a"), theirs = folder->path_of(KeyDigest{2}, "a");
  EXPECT_NE(mine, theirs);
  EXPECT_NE(fs::path(mine).parent_path(), fs::path(theirs).parent_path());
}

TEST_F(SlotFolderTest, HasRoomForSoManyBytesOfAKey) {
  const auto folder = std::move(*SlotFolder::open(folder_, 100));
  const std::string mine = folder->path_of(KeyDigest{1}, "a"), other = folder->path_of(KeyDigest{1}, "b");
  ASSERT_TRUE(folder->make_room(mine, 60).ok());
  std::ofstream(mine) << std::string(60, 'x');
  EXPECT_TRUE(folder->make_room(mine, 100).ok()) << "the file is replaced";
  EXPECT_TRUE(folder->make_room(other, 40).ok());
  const Status full = folder->make_room(other, 41);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(folder->make_room(folder->path_of(KeyDigest{2}, "b"), 100).ok());
  EXPECT_FALSE(folder->make_room(other, UINT64_MAX).ok());
}

TEST_F(SlotFolderTest, WhatAKilledServerLeftIsNeitherCountedNorKept) {
  const auto folder = std::move(*SlotFolder::open(folder_, 100));
  const std::string mine = folder->path_of(KeyDigest{1}, "a"), keyless = folder->path_of({}, "a");
  ASSERT_TRUE(folder->make_room(mine, 60).ok());
  const auto leave = [](const std::string& path) {
    const std::string left = unfinished_path(path).string();
    std::ofstream(left) << std::string(90, 'x');
    return left;
  };
  const std::string left = leave(mine), held = leave(mine);
  const FileDescriptor writer(::open(held.c_str(), O_WRONLY));
  ASSERT_TRUE(hold_unfinished(writer));
  EXPECT_TRUE(folder->make_room(mine, 100).ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(held)) << "another server writes it";
  const std::string of_key = leave(mine), of_none = leave(keyless);
  ASSERT_TRUE(SlotFolder::open(folder_, 100).ok());
  EXPECT_FALSE(fs::exists(of_key));
  EXPECT_FALSE(fs::exists(of_none));
}

TEST_F(SlotFolderTest, RefusesAFolderThatCannotBeMadeOrWritten) {
  EXPECT_FALSE(SlotFolder::open(folder_ + "/not/there", 1).ok());
  std::ofstream(folder_) << "a file";
  EXPECT_FALSE(SlotFolder::open(folder_, 1).ok());
  fs::remove(folder_);
}

}  // namespace
}  // namespace realizar::server
