#include "tools/imatrix.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

Imatrix small_imatrix() {
  Imatrix imatrix;
  imatrix.datasets = {"a.txt"};
  imatrix.n_chunks = 3;
  imatrix.chunk_size = 512;
  imatrix.entries["blk.0.attn_q.weight"] = {{2, 4, 6, 8}, {2}};
  imatrix.entries["blk.0.ffn_up_exps.weight"] = {{1, 2, 0, 0, 9, 3}, {1, 0, 3}};  // three experts with two columns
  return imatrix;
}

std::string error_of(const std::vector<std::byte>& bytes) {
  const auto imatrix = Imatrix::parse(bytes, "m.imatrix");
  return imatrix.ok() ? "" : imatrix.error().message;
}

TEST(Imatrix, IsReadAsItWasWritten) {
  const TempFolder folder;
  const fs::path path = folder / "imatrix";
  const Imatrix written = small_imatrix();
  ASSERT_TRUE(written.write(path).ok());
  const auto read = must(Imatrix::read(path));
  EXPECT_EQ(read.datasets, written.datasets);
  EXPECT_EQ(read.n_chunks, 3u);
  EXPECT_EQ(read.chunk_size, 512u);
  ASSERT_EQ(read.entries.size(), 2u);
  EXPECT_EQ(read.entries.at("blk.0.ffn_up_exps.weight").sums, written.entries.at("blk.0.ffn_up_exps.weight").sums);
  EXPECT_EQ(read.entries.at("blk.0.ffn_up_exps.weight").counts, (std::vector<float>{1, 0, 3}));
}

TEST(Imatrix, ANameThatTheFormatHasNoRoomForIsRefused) {
  const TempFolder folder;
  const fs::path path = folder / "imatrix";
  const std::string longest(55, 'n');
  Imatrix imatrix;
  imatrix.entries[longest] = {{1, 2}, {1}};
  ASSERT_TRUE(imatrix.write(path).ok());
  const auto read = must(Imatrix::read(path));
  EXPECT_EQ(read.entries.at(longest).sums, (std::vector<float>{1, 2}));
  fs::remove(path);
  imatrix.entries[longest + "n"] = {{1, 2}, {1}};
  EXPECT_TRUE(fails_with(imatrix.write(path), "at most 55 bytes"));
  EXPECT_FALSE(fs::exists(path));
}

TEST(Imatrix, WeightsAreMeansAndAnExpertThatWasNeverChosenHasThatOfTheOthers) {
  const Imatrix imatrix = small_imatrix();
  EXPECT_EQ(imatrix.weights("blk.0.attn_q.weight", 1, 4).value(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(imatrix.weights("blk.0.ffn_up_exps.weight", 3, 2).value(), (std::vector<float>{1, 2, 2, 1.5f, 3, 1}));
  EXPECT_TRUE(imatrix.weights("blk.7.attn_q.weight", 1, 4).value().empty());
  EXPECT_TRUE(fails_with(imatrix.weights("blk.0.attn_q.weight", 1, 5), "another model's"));
}

TEST(Imatrix, SumsOfTwoRunsAreAdded) {
  Imatrix imatrix = small_imatrix();
  Imatrix other = small_imatrix();
  other.datasets = {"b.txt"};
  other.entries["blk.1.attn_q.weight"] = {{5}, {1}};
  ASSERT_TRUE(imatrix.add(other).ok());
  EXPECT_EQ(imatrix.n_chunks, 6u);
  EXPECT_EQ(imatrix.datasets, (std::vector<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(imatrix.entries.at("blk.0.attn_q.weight").sums, (std::vector<float>{4, 8, 12, 16}));
  EXPECT_EQ(imatrix.entries.at("blk.0.attn_q.weight").counts, (std::vector<float>{4}));
  EXPECT_EQ(imatrix.entries.size(), 3u);
  other.chunk_size = 256;
  EXPECT_FALSE(imatrix.add(other).ok());
  other.chunk_size = 512;
  other.entries["blk.0.attn_q.weight"].sums.push_back(1);
  EXPECT_FALSE(imatrix.add(other).ok());
}

TEST(Imatrix, DamagedFilesAreRefused) {
  GgufWriter other_file;
  other_file.add_string("general.type", "model");
  EXPECT_NE(error_of(other_file.bytes()).find("expected an importance matrix"), std::string::npos);
  const auto with = [](std::vector<float> sums, std::vector<float> counts) {
    GgufWriter writer;
    const uint64_t n_sums = sums.size(), n_counts = counts.size();
    writer.add_tensor("t.in_sum2", TypeId::kF32, {n_sums}, sums);
    if (n_counts > 0) writer.add_tensor("t.counts", TypeId::kF32, {n_counts, 1}, counts);
    return writer.bytes();
  };
  EXPECT_EQ(error_of(with({1, 2}, {1})), "");
  EXPECT_NE(error_of(with({1, 2}, {})).find("sums without counts"), std::string::npos);
  EXPECT_NE(error_of(with({1, -2}, {1})).find("negative"), std::string::npos);
  EXPECT_NE(error_of(with({1, NAN}, {1})).find("not a number"), std::string::npos);
  EXPECT_NE(error_of(with({1, 2, 3}, {1, 2})).find("not a multiple"), std::string::npos);
}

// The format that llama-imatrix wrote before GGUF.
TEST(Imatrix, TheOlderFormatIsRead) {
  std::vector<std::byte> bytes;
  const auto put = [&](const void* data, size_t n) {
    const auto* at = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), at, at + n);
  };
  const auto put_int = [&](int32_t value) { put(&value, sizeof value); };
  put_int(1);
  put_int(5);
  put("t.wei", 5);
  put_int(4);
  put_int(2);
  const float values[2] = {8, 2};
  put(values, sizeof values);
  put_int(7);
  const auto imatrix = must(Imatrix::parse(bytes, "m.dat"));
  EXPECT_EQ(imatrix.weights("t.wei", 1, 2).value(), (std::vector<float>{2, 0.5f}));
  EXPECT_EQ(imatrix.n_chunks, 7u);
  for (size_t n = 0; n + 4 < bytes.size(); ++n) {
    EXPECT_FALSE(Imatrix::parse(std::span(bytes).first(n), "m.dat").ok()) << n;
  }
}

}  // namespace
}  // namespace realizar
