#include "server/models/prefix_folders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/files.h"
#include "base/unfinished.h"
#include "engine/engine.h"
#include "engine/prefixes.h"

namespace realizar::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

class PrefixKeeperTest : public ::testing::Test {
 protected:
  ~PrefixKeeperTest() override { fs::remove_all(folder_); }

  static std::unique_ptr<LoadedModel> load_model() {
    LoadOptions options;
    options.hash_weights = true;
    options.n_ctx = 256;
    return std::move(*LoadedModel::load(kModel, options));
  }
  std::unique_ptr<PrefixKeeper> open() const { return std::move(*PrefixKeeper::open(folder_, 1 << 24)); }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  }

  std::string folder_ = testing::TempDir() + "realizar-prefixes-" + std::to_string(::getpid());
  Request request_ = [] {
    Request request;
    request.prompt.assign(100, TokenId{70});
    request.max_tokens = 1;
    return request;
  }();
};

TEST_F(PrefixKeeperTest, KeepsWhatOnlyItsOwnerMayRead) {
  const auto keeper = open();
  EXPECT_EQ(mode_of(folder_), 0700u);
  const auto first = load_model();
  const uint64_t salt = first->engine->prefixes().salt_of("someone");
  ASSERT_TRUE(first->engine->generate(request_, {}).ok());
  keeper->keep("tiny", *first);
  EXPECT_TRUE(keeper->status().ok());
  EXPECT_EQ(mode_of(keeper->file_of("tiny")), 0600u);

  const auto second = load_model();
  EXPECT_NE(second->engine->prefixes().salt_of("someone"), salt);
  keeper->restore("tiny", *second);
  EXPECT_EQ(second->engine->prefixes().salt_of("someone"), salt) << "the secret is kept with the prefixes";
  EXPECT_EQ(second->engine->generate(request_, {})->stats.n_cached, 99u);
}

TEST_F(PrefixKeeperTest, AFileThatOthersCouldReadIsReplacedByOneThatTheyCannot) {
  const auto keeper = open();
  std::ofstream(keeper->file_of("tiny")) << "old";
  fs::permissions(keeper->file_of("tiny"), fs::perms(0644));
  keeper->keep("tiny", *load_model());
  EXPECT_TRUE(keeper->status().ok());
  EXPECT_EQ(mode_of(keeper->file_of("tiny")), 0600u);
}

TEST_F(PrefixKeeperTest, EveryIdHasAFileOfItsOwnInTheFolder) {
  const auto keeper = open();
  std::set<std::string> files;
  const std::vector<std::string> ids{"tiny",
                                     "org/tiny",
                                     "org%2Ftiny",
                                     "../tiny",
                                     "..",
                                     ".",
                                     "",
                                     "/etc/passwd",
                                     "org_tiny",
                                     "a\nb",
                                     std::string(300, 'x'),
                                     std::string(301, 'x'),
                                     std::string(300, '/')};
  for (const std::string& id : ids) {
    const fs::path file = keeper->file_of(id);
    EXPECT_EQ(file.parent_path(), folder_) << id;
    EXPECT_LE(file.filename().string().size() + 4, 255u) << id;
    EXPECT_TRUE(files.insert(file.string()).second) << id << ": " << file;
    std::ofstream(file) << "x";
    EXPECT_TRUE(fs::is_regular_file(file)) << id;
  }
}

TEST_F(PrefixKeeperTest, RefusesAFolderThatCannotBeMadeOrWritten) {
  const auto missing = PrefixKeeper::open(folder_ + "/not/there", 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("No such file or directory"), std::string::npos) << missing.error().message;
  std::ofstream(folder_) << "a file";
  EXPECT_FALSE(PrefixKeeper::open(folder_, 1).ok());
  EXPECT_FALSE(PrefixKeeper::open("/proc/self", 1).ok());
}

TEST_F(PrefixKeeperTest, RemembersThatAFileCouldNotBeWritten) {
  const auto keeper = open();
  fs::remove_all(folder_);
  keeper->keep("tiny", *load_model());
  ASSERT_FALSE(keeper->status().ok());
  EXPECT_NE(keeper->status().error().message.find(keeper->file_of("tiny")), std::string::npos);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const std::string kSecret = "RZPREFIX and prompts";

TEST_F(PrefixKeeperTest, ErasesAllThatWasKeptAndNothingElse) {
  const auto keeper = open();
  const std::string kept = keeper->file_of("tiny"), other = keeper->file_of("gone");
  const std::string old_part = other + ".part4711", empty_part = other + ".part4712";
  const std::string notes = folder_ + "/notes.txt", foreign = folder_ + "/thesis.prefixes",
                    empty = folder_ + "/0.prefixes";
  for (const std::string& path : {kept, other, old_part, notes}) std::ofstream(path) << kSecret;
  std::ofstream(foreign) << "no cache";
  for (const std::string& path : {empty_part, empty}) std::ofstream(path) << "";
  ASSERT_EQ(::mkfifo(keeper->file_of("pipe").c_str(), 0600), 0);
  fs::create_symlink(notes, keeper->file_of("link"));
  fs::create_directory(keeper->file_of("folder"));
  std::ifstream bytes(kept);
  const Status status = keeper->erase_all();
  EXPECT_TRUE(status.ok()) << status.error().message;
  for (const std::string& path : {kept, other, old_part, empty_part}) EXPECT_FALSE(fs::exists(path)) << path;
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(bytes), {}), std::string(kSecret.size(), '\0'))
      << "zeroed before the name went";
  EXPECT_EQ(content_of(notes), kSecret);
  EXPECT_EQ(content_of(foreign), "no cache");
  EXPECT_TRUE(fs::exists(empty));
  for (const char* id : {"pipe", "link", "folder"}) {
    EXPECT_NE(fs::symlink_status(keeper->file_of(id)).type(), fs::file_type::not_found) << id;
  }
}

TEST_F(PrefixKeeperTest, AFileThatHasAnotherNameIsNeverZeroed) {
  const auto keeper = open();
  const std::string kept = keeper->file_of("tiny"), own = folder_ + "/kept-by-another";
  std::ofstream(own) << kSecret;
  fs::create_hard_link(own, kept);
  for (const Status& status : {keeper->erase_all(), keeper->erase("tiny")}) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(kept), std::string::npos) << status.error().message;
    EXPECT_EQ(content_of(own), kSecret);
  }
  fs::remove(own);
  EXPECT_TRUE(keeper->erase("tiny").ok());
  EXPECT_FALSE(fs::exists(kept));
}

TEST_F(PrefixKeeperTest, WhatAKilledServerLeftIsErasedAtTheStartAndWithAnyModel) {
  static_cast<void>(open());
  const auto path_of = [&](const char* id) { return folder_ + "/" + id + ".prefixes"; };
  const auto leave = [&](const std::string& path) {
    std::ofstream(path) << kSecret;
    return path;
  };
  const std::string first = leave(unfinished_path(path_of("tiny"))), old_part = leave(path_of("tiny") + ".part17");
  const std::string held = leave(unfinished_path(path_of("tiny"))), whole = leave(path_of("other"));
  const FileDescriptor writer(::open(held.c_str(), O_WRONLY));
  ASSERT_TRUE(hold_unfinished(writer));
  const auto keeper = open();
  for (const std::string& path : {first, old_part}) EXPECT_FALSE(fs::exists(path)) << path;
  const std::string second = leave(unfinished_path(path_of("gone")));
  EXPECT_TRUE(keeper->erase("tiny").ok());
  EXPECT_FALSE(fs::exists(second));
  EXPECT_EQ(content_of(held), kSecret) << "another server writes it";
  EXPECT_EQ(content_of(whole), kSecret);
}

TEST_F(PrefixKeeperTest, ANamedPipeInPlaceOfAFileDoesNotHang) {
  const auto keeper = open();
  const auto model = load_model();
  ASSERT_EQ(::mkfifo(keeper->file_of("tiny").c_str(), 0600), 0);
  keeper->restore("tiny", *model);
  keeper->keep("tiny", *model);
  EXPECT_TRUE(keeper->status().ok());
  EXPECT_TRUE(fs::is_regular_file(keeper->file_of("tiny")));
}

}  // namespace
}  // namespace realizar::server
