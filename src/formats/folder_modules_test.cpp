#include "formats/folder_modules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/model_file.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

// [Transformer at `first`, then `rest`]
std::string modules(const std::string& first, const std::string& rest = "") {
  return R"([{"idx":0,"name":"0","path":")" + first + R"(","type":"sentence_transformers.models.Transformer"})" + rest +
         "]";
}
std::string module(const std::string& path, const std::string& kind) {
  return R"(,{"path":")" + path + R"(","type":"sentence_transformers.models.)" + kind + "\"}";
}
constexpr const char* kDense = R"({"in_features":1,"out_features":1,"bias":false,)"
                               R"("activation_function":"torch.nn.modules.linear.Identity"})";

class ModulesFolder : public testing::Test {
 protected:
  void SetUp() override {
    put("config.json", "{}");
    put_tensor("model.safetensors", "own");
  }
  void put(const std::string& name, std::string_view content) const { root_.put(name, content); }
  void put_tensor(const std::string& file, const std::string& name) const {
    const std::string header = "{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const uint64_t n = header.size();
    put(file, std::string(reinterpret_cast<const char*>(&n), 8) + header + "\1\1\1\1");
  }
  void put_dense(const std::string& path, const std::string& config = kDense) const {
    put(path + "/config.json", config);
    put_tensor(path + "/model.safetensors", "linear.weight");
  }
  std::string open_error() const {
    const auto file = ModelFile::open(root_);
    return file.ok() ? "" : file.error().message;
  }
  void expect_error(const std::string& json, const std::string& expected) const {
    put("modules.json", json);
    EXPECT_NE(open_error().find(expected), std::string::npos) << json << "\n" << open_error();
  }
  TempFolder root_;
};

TEST_F(ModulesFolder, AreReadUnderTheNamesThatTheyHave) {
  put("Pool/config.json", R"({"pooling_mode_cls_token":true})");
  put("1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
  put_dense("first");
  put_dense("second");
  put("modules.json", modules("", module("./Pool", "Pooling") + module("second", "Dense") + module("first/", "Dense") +
                                      module("4_Normalize", "Normalize") + module("5_Dropout", "Dropout")));
  const auto file = must(ModelFile::open(root_));
  EXPECT_TRUE(file.metadata().contains("1_Pooling.pooling_mode_cls_token"));
  EXPECT_FALSE(file.metadata().contains("1_Pooling.pooling_mode_max_tokens"));
  EXPECT_NE(file.find("2_Dense.linear.weight"), nullptr);
  EXPECT_NE(file.find("3_Dense.linear.weight"), nullptr);
  const auto found = must(read_folder_modules(root_));
  EXPECT_EQ(found.dense.front().lexically_normal(), root_ / "second");
}

TEST_F(ModulesFolder, TheTransformerMayHaveAFolder) {
  for (const char* name : {"config.json", "model.safetensors"}) {
    fs::create_directories(root_ / "0_Transformer");
    fs::rename(root_ / name, root_ / "0_Transformer" / name);
  }
  put("0_Transformer/tokenizer.json", "{}");
  put("1_Pooling/config.json", R"({"pooling_mode":"cls"})");
  put("modules.json", modules("0_Transformer", module("1_Pooling", "Pooling")));
  const auto file = must(ModelFile::open(root_));
  EXPECT_NE(file.find("own"), nullptr);
  EXPECT_TRUE(file.metadata().contains("1_Pooling.pooling_mode_cls_token"));
  EXPECT_EQ(file.side_files()->tokenizer_json, "{}");
}

TEST_F(ModulesFolder, WhatIsNamedAndAbsentIsAnError) {
  expect_error(modules("0_Transformer"), "modules.json names 0_Transformer, which is not there");
  expect_error(modules("", module("1_Pooling", "Pooling")), "modules.json names 1_Pooling, which is not there");
  put("1_Pooling/config.json", "{}");
  const std::string dense = modules("", module("1_Pooling", "Pooling") + module("2_Dense", "Dense"));
  expect_error(dense, "modules.json names 2_Dense, which is not there");
  put("2_Dense/pytorch_model.bin", "");
  expect_error(dense, "modules.json names 2_Dense, which has no config.json");
  put("2_Dense/config.json", kDense);
  expect_error(dense, "PyTorch weights");
  fs::remove(root_ / "2_Dense/pytorch_model.bin");
  expect_error(dense, "modules.json names 2_Dense, which has no model.safetensors");
  fs::remove(root_ / "config.json");
  expect_error(modules("0_Transformer"), "modules.json names 0_Transformer, which is not there");
}

TEST_F(ModulesFolder, WhatCannotBeComputedIsRefusedByName) {
  put("1_Pooling/config.json", "{}");
  put("2/config.json", "{}");
  const std::string pooling = module("1_Pooling", "Pooling");
  for (const char* kind : {"SpladePooling", "LSTM", "CNN", "LayerNorm", "WeightedLayerPooling", "Router", "Asym"}) {
    expect_error(modules("", pooling + module("2", kind)), std::string("module '2' of type ") + kind);
    expect_error(modules("", module("2", kind)), std::string("module '2' of type ") + kind);
  }
  expect_error(R"([{"path":"","type":"sentence_transformers.models.CLIPModel"}])", "CLIPModel is not supported");
  expect_error(R"([{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])", "the first module");
  for (const auto& dense : {R"({"activation_function":"torch.nn.modules.activation.Tanh"})", "{}",
                            R"({"activation_function":"Identity","use_residual":true})",
                            R"({"activation_function":"Identity","module_input_name":"token_embeddings"})"}) {
    put_dense("2_Dense", dense);
    expect_error(modules("", pooling + module("2_Dense", "Dense")), "is not supported");
  }
  put_dense("2_Dense");
  expect_error(modules("", module("2_Dense", "Dense") + pooling), "before the Pooling");
  expect_error(modules("", module("n", "Normalize") + pooling), "before the Pooling");
  const std::string dense = module("2_Dense", "Dense");
  expect_error(modules("", pooling + dense + dense + dense), "one too many");
  put("1_Pooling/config.json", R"({"pooling_mode":"nonesuch"})");
  expect_error(modules("", pooling), "pooling_mode 'nonesuch'");
}

TEST_F(ModulesFolder, AListThatIsNoneIsRefused) {
  for (const char* json : {"", "{}", "[]", "[1]", "[{}]", R"([{"path":""}])", R"([{"path":1,"type":"a.Transformer"}])",
                           "[], \"x\": [1]"}) {
    expect_error(json, "modules.json");
  }
  expect_error(modules("../other"), "expected a folder of the model's own");
  expect_error(modules("/tmp"), "expected a folder of the model's own");
  put("modules.json", "\xEF\xBB\xBF" + modules(""));
  EXPECT_EQ(open_error(), "");
}

TEST_F(ModulesFolder, WithoutAListTheUsualFoldersCount) {
  put("1_Pooling/config.json", R"({"pooling_mode_lasttoken":true})");
  put_tensor("2_Dense/model.safetensors", "linear.weight");
  auto file = must(ModelFile::open(root_));
  EXPECT_TRUE(file.metadata().contains("1_Pooling.pooling_mode_lasttoken"));
  EXPECT_NE(file.find("2_Dense.linear.weight"), nullptr);
  put("2_Dense/config.json", R"({"activation_function":"torch.nn.modules.activation.Tanh"})");
  EXPECT_NE(open_error().find("Tanh"), std::string::npos) << open_error();
}

}  // namespace
}  // namespace realizar
