#include "formats/gguf_kind.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"
#include "formats/model_file.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

using TextKeys = std::vector<std::pair<std::string, std::string>>;

GgufWriter file_of(const TextKeys& keys, bool has_tensors = true) {
  GgufWriter writer;
  for (const auto& [key, value] : keys) writer.add_string(key, value);
  if (has_tensors) writer.add_tensor("t", TypeId::kF32, {1}, std::vector<float>{1});
  return writer;
}

TEST(GgufKind, IsWhatTheFileSays) {
  const std::pair<TextKeys, GgufKind> cases[] = {
      {{{"general.architecture", "llama"}}, GgufKind::kModel},
      {{{"general.architecture", "llama"}, {"general.type", "model"}}, GgufKind::kModel},
      {{{"general.architecture", "llama"}, {"general.type", "nonesuch"}}, GgufKind::kModel},
      {{{"general.architecture", "clip"}}, GgufKind::kProjector},
      {{{"general.architecture", "clip"}, {"general.type", "model"}}, GgufKind::kProjector},
      {{{"general.architecture", "clip"}, {"general.type", "mmproj"}}, GgufKind::kProjector},
      {{{"general.architecture", "llama"}, {"general.type", "projector"}}, GgufKind::kProjector},
      {{{"general.type", "imatrix"}}, GgufKind::kImportanceMatrix},
      {{{"imatrix.datasets", "x"}}, GgufKind::kImportanceMatrix},
      {{{"general.architecture", "llama"}, {"general.type", "adapter"}}, GgufKind::kAdapter},
      {{{"general.architecture", "controlvector"}}, GgufKind::kControlVector},
      {{{"general.architecture", "llama"}, {"general.type", "vocab"}}, GgufKind::kVocabulary}};
  for (const auto& [keys, expected] : cases) {
    const auto bytes = file_of(keys).bytes();
    EXPECT_EQ(gguf_kind(bytes, false), expected) << keys.front().second << " " << keys.back().second;
  }
}

TEST(GgufKind, AFileWithoutTensorsIsAVocabularyUnlessItIsAPart) {
  const auto bytes = file_of({{"general.architecture", "llama"}}, false).bytes();
  EXPECT_EQ(gguf_kind(bytes, false), GgufKind::kVocabulary);
  EXPECT_EQ(gguf_kind(bytes, true), GgufKind::kModel);
}

TEST(GgufKind, EveryBeginningIsReadAsFarAsItGoes) {
  GgufWriter writer = file_of({{"general.architecture", "clip"}});
  writer.add_strings("list", {"a", "bb"});
  writer.add_i32s("numbers", {1, 2, 3});
  const auto bytes = writer.bytes();
  for (size_t n = 0; n <= bytes.size(); ++n) {
    const auto kind = gguf_kind(std::span(bytes).first(n), false);
    EXPECT_EQ(kind.has_value(), n >= 4) << n;
  }
  EXPECT_EQ(gguf_kind(std::span(bytes).first(80), false), GgufKind::kProjector);
  EXPECT_FALSE(gguf_kind(std::as_bytes(std::span("not a GGUF file")), false));
}

TEST(GgufKind, NamesTellOfCompanions) {
  for (const char* name : {"mmproj-F16.gguf", "a/G.BF16-mmproj.gguf", "MMPROJ.gguf", "imatrix.gguf", "M.imatrix.gguf",
                           "M-Q8_0.imatrix.gguf", "imatrix_unsloth.gguf"}) {
    EXPECT_TRUE(is_companion_name(name)) << name;
  }
  for (const char* name : {"m.gguf", "M-imatrix-Q4_K_M.gguf", "m-imatrix_iq2_xs.gguf", "M.imatrix.Q8_0.gguf"}) {
    EXPECT_FALSE(is_companion_name(name)) << name;
  }
}

class KindFolder : public testing::Test {
 protected:
  void put(const std::string& name, const TextKeys& keys) const { ASSERT_TRUE(file_of(keys).write(root_ / name).ok()); }
  TempFolder root_;
};

TEST_F(KindFolder, HasOneModelBesideItsCompanions) {
  put("vision.gguf", {{"general.architecture", "clip"}});
  auto found = find_gguf(root_);
  ASSERT_TRUE(fails_with(found, "vision.gguf is a projector"));
  put("data.gguf", {{"general.type", "imatrix"}});
  put("poet.gguf", {{"general.architecture", "llama"}, {"general.type", "adapter"}});
  put("m-imatrix.gguf", {{"general.architecture", "llama"}});
  found = find_gguf(root_);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->filename(), "m-imatrix.gguf") << "what a file says counts, and not its name";
}

TEST_F(KindFolder, AConfigBesideAGgufFileMakesNoOtherModel) {
  put("m.gguf", {{"general.architecture", "llama"}});
  root_.put("config.json", "{}");
  auto file = must(ModelFile::open(root_));
  EXPECT_EQ(file.format(), FileFormat::kGguf);
  root_.put("model.safetensors", "x");
  EXPECT_TRUE(fails_with(ModelFile::open(root_), "model.safetensors"));
}

TEST_F(KindFolder, PartsMayBeInCapitals) {
  for (uint32_t no = 0; no < 2; ++no) {
    GgufWriter writer = file_of({{"general.architecture", "llama"}}, false);
    writer.add_u32("split.no", no);
    writer.add_u32("split.count", 2);
    writer.add_tensor("t" + std::to_string(no), TypeId::kF32, {1}, std::vector<float>{1});
    ASSERT_TRUE(writer.write(root_ / (no == 0 ? "M-00001-of-00002.GGUF" : "m-00002-of-00002.gguf")).ok());
  }
  for (const fs::path& path : {fs::path(root_), root_ / "M-00001-of-00002.GGUF", root_ / "m-00002-of-00002.gguf"}) {
    const auto file = must(ModelFile::open(path));
    EXPECT_EQ(file.tensors().size(), 2u) << path;
  }
  EXPECT_EQ(parts_of_gguf(root_ / "M-00001-of-00002.GGUF").size(), 2u);
}

}  // namespace
}  // namespace realizar
