#include "hub/new_blob.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "base/result_checks.h"
#include "base/temp_folder.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

class NewBlobTest : public testing::Test {
 protected:
  bool has_parts() const { return !fs::is_empty(store_.partial_folder()); }

  TempFolder root_;
  Store store_{root_};
};

TEST_F(NewBlobTest, IsThereUnderItsHashOnceItIsWhole) {
  const std::string sha256 = sha256_text("a text");
  auto blob = must(NewBlob::create(store_, sha256, 0));
  ASSERT_TRUE(blob.write("a ").ok());
  ASSERT_TRUE(blob.write("text").ok());
  EXPECT_FALSE(store_.has_blob(sha256, 6));
  EXPECT_TRUE(has_parts());
  ASSERT_TRUE(blob.commit().ok());
  EXPECT_TRUE(store_.has_blob(sha256, 6));
  EXPECT_FALSE(has_parts());
}

TEST_F(NewBlobTest, BytesOfAnotherHashAreRefusedAndLeaveNothing) {
  {
    auto blob = must(NewBlob::create(store_, sha256_text("a text"), 6));
    ASSERT_TRUE(blob.write("a test").ok());
    const Status status = blob.commit();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kFormatError);
  }
  EXPECT_FALSE(has_parts());
  EXPECT_TRUE(fs::is_empty(root_ / "blobs"));
}

TEST_F(NewBlobTest, WhatAKilledProcessLeftGoesWithTheNextOne) {
  ASSERT_TRUE(store_.prepare().ok());
  auto living = NewBlob::create(store_, sha256_text("a text"), 6);
  ASSERT_TRUE(living.ok() && living->write("a text").ok());
  const fs::path left = store_.partial_folder() / ".blob.0123456789abcdef.part";
  std::ofstream(left) << "half";
  auto next = NewBlob::create(store_, sha256_text("a text"), 6);
  ASSERT_TRUE(next.ok() && next->write("a text").ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(living->commit().ok());
  EXPECT_TRUE(next->commit().ok());
  EXPECT_TRUE(store_.has_blob(sha256_text("a text"), 6));
}

TEST_F(NewBlobTest, NobodyRemovesFilesMeanwhile) {
  auto blob = must(NewBlob::create(store_, sha256_text("a text"), 6));
  ASSERT_TRUE(blob.write("a text").ok());
  const auto pruned = must(store_.prune());
  EXPECT_TRUE(pruned.are_busy);
  const NewBlob moved = std::move(blob);
  EXPECT_TRUE(has_parts()) << "what was moved has the file";
}

TEST_F(NewBlobTest, ADiskWithoutRoomIsSeenFirst) {
  const auto blob = NewBlob::create(store_, sha256_text("a text"), std::numeric_limits<uint64_t>::max());
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().subject, "disk");
}

TEST_F(NewBlobTest, ATextIsAddedOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto file = must(add_text(store_, FileRole::kSystem, "system", "Be brief."));
    const auto text = must(store_.read_blob(file, 100));
    EXPECT_EQ(text, "Be brief.");
  }
}

}  // namespace
}  // namespace realizar::hub
