#include "api/found_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "hub/digest.h"
#include "hub/store.h"
#include "realizar/engine.h"
#include "realizar/models.h"
#include "realizar/realizar.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBundledModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
constexpr const char* kTurnsOfMine =
    R"([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day."}])";

// A store with "mine", the bundled model with texts of its own, and "odd", whose messages are invalid.
class FoundModelTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_.prepare().ok());
    const hub::StoredFile weights{hub::FileRole::kModel, "m.gguf", hub::sha256_text(kBundledModel),
                                  fs::file_size(kBundledModel)};
    fs::copy_file(kBundledModel, store_.blob_path(weights.sha256));
    put("mine", {weights, text(hub::FileRole::kSystem, "Be brief."), text(hub::FileRole::kMessages, kTurnsOfMine),
                 text(hub::FileRole::kParams, R"({"num_ctx": 128, "temperature": 0.25})")});
    put("odd", {weights, text(hub::FileRole::kMessages, R"([{"role": "robot", "content": "x"}])")});
    options_.models_store = root_.string();
    options_.backend = BackendChoice::kCpu;
  }

  hub::StoredFile text(hub::FileRole role, const std::string& content) const {
    const std::string sha256 = hub::sha256_text(content);
    std::ofstream(store_.blob_path(sha256), std::ios::binary) << content;
    return {role, std::string(hub::role_name(role)), sha256, content.size()};
  }
  void put(const std::string& name, std::vector<hub::StoredFile> files) const {
    must(store_.put({*hub::parse_name(name), "", "", "", std::move(files)}));
  }
  std::string refusal(const std::string& name) const {
    const auto model = LanguageModel::load(name, options_);
    if (model.ok()) return "";
    EXPECT_EQ(model.error().code, ErrorCode::kNotFound) << name;
    return model.error().message;
  }

  TempFolder root_;
  hub::Store store_{root_};
  LoadOptions options_;
};

TEST_F(FoundModelTest, ANameLoadsWhatLiesBesideTheModelToo) {
  const auto named = must(LanguageModel::load("mine", options_));
  EXPECT_EQ(named.info().n_ctx, 128u);
  EXPECT_EQ(named.default_sampling().temperature, 0.25F);
  EXPECT_TRUE(named.info().notes.empty());
  const auto plain = must(LanguageModel::load(kBundledModel, options_));
  const std::vector<ChatMessage> all = {
      {"system", "Be brief."}, {"user", "Hello"}, {"assistant", "Good day."}, {"user", "hi"}};
  EXPECT_EQ(*named.chat_prompt({{"user", "hi"}}), *plain.chat_prompt(all));
  EXPECT_EQ(*named.apply_chat_template(R"({"messages": [{"role": "user", "content": "hi"}]})"),
            *plain.chat_prompt(all));
  const std::vector<ChatMessage> with_own = {
      {"user", "Hello"}, {"assistant", "Good day."}, {"system", "Be kind."}, {"user", "hi"}};
  EXPECT_EQ(*named.chat_prompt({{"system", "Be kind."}, {"user", "hi"}}), *plain.chat_prompt(with_own));
  EXPECT_EQ(*plain.apply_chat_template(R"({"messages": [{"role": "user", "content": "hi"}]})"),
            *plain.chat_prompt({{"user", "hi"}}));
}

TEST_F(FoundModelTest, MessagesThatAreNoneAreToldOfAndNotUsed) {
  const auto odd = must(LanguageModel::load("odd", options_));
  ASSERT_EQ(odd.info().notes.size(), 1u);
  EXPECT_NE(odd.info().notes[0].find("messages"), std::string::npos);
  EXPECT_TRUE(odd.chat_prompt({{"user", "hi"}}).ok());
}

TEST_F(FoundModelTest, WhatIsNotHereIsAnErrorThatSaysWhatToDo) {
  EXPECT_NE(refusal("qwen3:1.7b").find("realizar pull qwen3:1.7b"), std::string::npos);
  EXPECT_NE(refusal("mien").find("did you mean mine"), std::string::npos);
  EXPECT_EQ(refusal("/no/such.gguf").find("pull"), std::string::npos);
}

TEST_F(FoundModelTest, ADraftModelMayBeNamedToo) {
  options_.draft.path = "mine";
  EXPECT_TRUE(LanguageModel::load(kBundledModel, options_).ok());
  options_.draft.path = "mien";
  EXPECT_NE(refusal(kBundledModel).find("did you mean mine"), std::string::npos);
}

TEST_F(FoundModelTest, NamesWorkInCToo) {
  rz_load_options options{};
  options.struct_size = sizeof options;
  options.backend = "cpu";
  const std::string store = root_.string();
  options.models_store = store.c_str();
  rz_model* model = rz_load("mine", &options);
  ASSERT_NE(model, nullptr) << rz_last_error();
  EXPECT_EQ(rz_n_ctx(model), 128);
  rz_free(model);
  EXPECT_EQ(rz_load("mien", &options), nullptr);
  EXPECT_NE(std::string(rz_last_error()).find("did you mean mine"), std::string::npos);
  EXPECT_EQ(rz_last_error_code(), RZ_NOT_FOUND);
}

TEST_F(FoundModelTest, APullAsksNoServerForWhatIsHere) {
  const std::string store = root_.string();
  PullOptions options;
  options.models_store = store;
  options.only_if_missing = true;
  options.mirror = "http://127.0.0.1:1";
  options.progress = [](const std::string&, uint64_t, uint64_t) { return false; };
  EXPECT_EQ(*pull_model("mine", options), "mine");
  EXPECT_EQ(pull_model("yours", options).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(pull_model("hf:../x", options).error().code, ErrorCode::kInvalidArgument);
  options.token = "two words";
  EXPECT_EQ(pull_model("mine", options).error().subject, "token");

  rz_pull_options given{};
  given.struct_size = sizeof given;
  given.models_store = store.c_str();
  given.only_if_missing = 1;
  char name[3];
  EXPECT_EQ(rz_pull("mine", &given, name, sizeof name), 4);
  EXPECT_EQ(std::string(name, 3), "min");
  given.only_if_missing = 0;
  given.on_progress = [](const char* file, uint64_t, uint64_t total_bytes, void* user) {
    *static_cast<bool*>(user) = std::string(file).empty() && total_bytes == 0;
    return 0;
  };
  bool is_told = false;
  given.on_progress_user = &is_told;
  given.mirror = "http://127.0.0.1:1";
  EXPECT_EQ(rz_pull("mine", &given, nullptr, 0), -1);
  EXPECT_EQ(rz_last_error_code(), RZ_CANCELLED);
  EXPECT_TRUE(is_told);
  EXPECT_EQ(rz_pull(nullptr, nullptr, nullptr, 0), -1);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace realizar
