#include "api/loaded_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// A model's file that changes while it is loaded, as soon as the first tensor is there.
class AFileThatChangesDuringTheLoad : public testing::Test {
 protected:
  void SetUp() override { fs::copy_file(kModel, path_, fs::copy_options::overwrite_existing); }
  void TearDown() override { fs::remove(path_); }

  template <class Change>
  Result<std::unique_ptr<LoadedModel>> load(const std::string& backend, const Change& change) {
    bool has_changed = false;
    LoadOptions options;
    options.backend = backend;
    options.progress = [&](uint64_t, uint64_t) {
      if (!has_changed) change();
      has_changed = true;
      return true;
    };
    return LoadedModel::load(path_.string(), options);
  }

  fs::path path_ = fs::path(testing::TempDir()) / ("rz_load_" + std::to_string(::getpid()) + ".gguf");
};

TEST_F(AFileThatChangesDuringTheLoad, FailsThatLoadAloneWhereItShrinks) {
  const auto other = LoadedModel::load(kModel, {});
  ASSERT_TRUE(other.ok()) << other.error().message;
  for (const char* backend : {"cpu", "reference"}) {
    fs::copy_file(kModel, path_, fs::copy_options::overwrite_existing);
    const auto loaded = load(backend, [this] { fs::resize_file(path_, 4096); });
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::kFormatError);
    EXPECT_EQ(loaded.error().message,
              path_.string() + ": the file became shorter while it was read, or its disk failed");
  }
  Request request;
  request.prompt = {TokenId{1}, TokenId{2}};
  request.max_tokens = 3;
  EXPECT_TRUE((*other)->engine->generate(request, {}).ok());
}

TEST_F(AFileThatChangesDuringTheLoad, FailsWhereItIsWrittenTo) {
  const auto loaded = load("cpu", [this] {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-100, std::ios::end);
    file << "changed";
  });
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("was written to while it was read"), std::string::npos)
      << loaded.error().message;
}

TEST_F(AFileThatChangesDuringTheLoad, IsLoadedWhereItIsReplacedOrDeleted) {
  EXPECT_TRUE(load("cpu", [this] { fs::remove(path_); }).ok());
}

TEST_F(AFileThatChangesDuringTheLoad, MayShrinkOnceItIsLoaded) {
  const auto loaded = load("cpu", [] {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  fs::resize_file(path_, 0);
  Request request;
  request.prompt = (*loaded)->tokenizer->encode("The capital of France is");
  request.max_tokens = 3;
  EXPECT_EQ((*loaded)->engine->generate(request, {}).value().tokens.size(), 3u);
}

}  // namespace
}  // namespace realizar
