#include "tools/gguf_stream.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/model_file.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

class GgufStreams : public testing::Test {
 protected:
  size_t n_entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static GgufWriter announced() {
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    writer.announce_tensor("first", TypeId::kF32, {3});
    writer.announce_tensor("second", TypeId::kQ8_0, {2, 32});
    return writer;
  }

  TempFolder folder_;
};

TEST_F(GgufStreams, PiecesOfAnySizeMakeTheTensors) {
  const fs::path path = folder_ / "out.gguf";
  auto stream = must(GgufStream::create(path, announced()));
  const std::vector<float> first = {1, 2, 3};
  const auto bytes = std::as_bytes(std::span(first));
  ASSERT_TRUE(stream.write(bytes.first(5)).ok());
  ASSERT_TRUE(stream.write(bytes.subspan(5)).ok());
  std::vector<std::byte> second(68);
  for (size_t i = 0; i < second.size(); ++i) second[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(stream.write(second).ok());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(stream.commit().ok());
  EXPECT_EQ(fs::file_size(path), stream.n_bytes());
  const auto file = must(ModelFile::open(path));
  EXPECT_TRUE(std::ranges::equal(file.find("first")->data, bytes));
  EXPECT_TRUE(std::ranges::equal(file.find("second")->data, second));
  EXPECT_EQ(n_entries(), 1u);
}

TEST_F(GgufStreams, AFileThatIsNotCommittedLeavesNothing) {
  {
    auto stream = must(GgufStream::create(folder_ / "out.gguf", announced()));
    ASSERT_TRUE(stream.write(std::vector<std::byte>(12)).ok());
    ASSERT_TRUE(stream.rewrite(0, std::vector<std::byte>(4)).ok());
    EXPECT_FALSE(fs::exists(folder_ / "out.gguf"));
  }
  EXPECT_EQ(n_entries(), 0u);
}

TEST_F(GgufStreams, AFileThatMayNotBecomeSoLargeIsRefusedBeforeItsTensorsAreMade) {
  GgufWriter writer;
  writer.announce_tensor("large", TypeId::kF32, {1 << 20});
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 4096, before.rlim_max };
  const auto handler_before = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto stream = GgufStream::create(folder_ / "out.gguf", writer);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler_before);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().message, "cannot write " + (folder_ / "out.gguf").string() + ": File too large");
  EXPECT_EQ(n_entries(), 0u);
}

TEST_F(GgufStreams, ADiskThatIsTooFullSaysWhatIsNeeded) {
  GgufWriter writer;
  writer.announce_tensor("endless", TypeId::kF32, {1ull << 50});
  const auto stream = GgufStream::create(folder_ / "out.gguf", writer);
  ASSERT_TRUE(fails_with(stream, "it needs 4.50 PB, and "));
  EXPECT_TRUE(fails_with(stream, " are free on that disk"));
  EXPECT_EQ(n_entries(), 0u);
}

// An entry of any type is read back unchanged.
TEST_F(GgufStreams, EntriesAreCopiedAsTheyAreStored) {
  GgufWriter source;
  source.add_bool("a.bool", true);
  source.add_strings("a.list", {"x", "", "yz"});
  source.add_f32("a.float", 0.1f);
  source.announce_tensor("t", TypeId::kF32, {1});
  const fs::path in = folder_ / "in.gguf", out = folder_ / "out.gguf";
  const std::vector<float> one = {1};
  auto first = GgufStream::create(in, source);
  ASSERT_TRUE(first.ok() && first->write(std::as_bytes(std::span(one))).ok() && first->commit().ok());
  const auto file = must(ModelFile::open(in));
  GgufWriter copy;
  for (const GgufEntry& entry : file.gguf_entries()) copy.add_stored(entry.key, entry.value);
  copy.announce_tensor("t", TypeId::kF32, {1});
  EXPECT_EQ(copy.header(), source.header());
}

}  // namespace
}  // namespace realizar
