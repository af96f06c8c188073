#include "formats/foreign_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"
#include "formats/model_file.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

class ForeignFiles : public testing::Test {
 protected:
  fs::path put(const std::string& name, const std::string& content) const { return root_.put(name, content); }
  static void expect_refused(const fs::path& path, const std::string& expected) {
    const auto file = ModelFile::open(path);
    ASSERT_TRUE(fails_with(file, ErrorCode::kUnsupported, expected));
    EXPECT_TRUE(file.error().message.starts_with(path.string())) << file.error().message;
  }

  TempFolder root_;
};

TEST_F(ForeignFiles, AreToldByTheirFirstBytesWithWhatToDo) {
  const std::pair<std::string, const char*> cases[] = {
      {std::string("lmgg") + std::string(40, '\0'), "convert_hf_to_gguf.py"},
      {"fmgg\x01", "GGML's older formats"},
      {"tjgg\x03", "GGML's older formats"},
      {"algg\x01", "LoRA adapter"},
      {"PK\x03\x04 archive/data.pkl", "safe_serialization=True"},
      {"\x80\x02\x8a\x0a", "PyTorch weights, which run code"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00", "git lfs pull"},
      {"<!DOCTYPE html><title>Sign in</title>", "a web page"},
  };
  for (const auto& [content, expected] : cases) expect_refused(put("model.bin", content), expected);
}

TEST_F(ForeignFiles, OthersAreNamedByWhatWasExpected) {
  for (const std::string content : {"", "G", "GGU", "hello, this is text", "tjg"}) {
    EXPECT_TRUE(fails_with(ModelFile::open(put("model.gguf", content)), "does not begin with 'GGUF'"));
  }
}

TEST_F(ForeignFiles, FoldersOfPyTorchWeightsAreRefusedWithTheReason) {
  put("pytorch_model.bin", "PK\x03\x04");
  expect_refused(root_, "pytorch_model.bin holds PyTorch weights");
  put("config.json", R"({"architectures": ["LlamaForCausalLM"]})");
  expect_refused(root_, "pytorch_model.bin holds PyTorch weights");
  fs::remove(root_ / "pytorch_model.bin");
  put("consolidated.00.pth", "PK\x03\x04");
  expect_refused(root_, "consolidated.00.pth holds PyTorch weights");
  fs::remove(root_ / "consolidated.00.pth");
  put("qmodel.pt", "PK\x03\x04");
  expect_refused(root_, "qmodel.pt holds weights that hqq pickled");
  fs::remove(root_ / "config.json");
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  ASSERT_TRUE(writer.write(root_ / "model.gguf").ok());
  EXPECT_TRUE(ModelFile::open(root_).ok()) << "a GGUF file beside them is taken";
}

TEST_F(ForeignFiles, VersionsOfGgufThatAreNotReadSayWhatToDo) {
  const auto with_version = [&](const std::string& version) {
    return put("model.gguf", "GGUF" + version + std::string(24, '\0'));
  };
  using namespace std::string_literals;
  expect_refused(with_version("\x01\0\0\0"s), "actual 1: a file of GGUF's first weeks");
  expect_refused(with_version("\x04\0\0\0"s), "actual 4: a file that is newer than this program. Take a newer");
  expect_refused(with_version("\0\0\0\x03"s), "gguf-convert-endian FILE little");
}

}  // namespace
}  // namespace realizar
