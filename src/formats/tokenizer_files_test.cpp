#include "formats/tokenizer_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result_checks.h"
#include "base/temp_folder.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TokenizerFiles : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) { root_.put(name, text); }

  SideFiles read() {
    SideFiles files;
    must(read_tokenizer_files(root_, files));
    return files;
  }
  json settings() { return json::parse(read().tokenizer_config_json.value_or("{}")); }

  TempFolder root_;
};

constexpr const char* kChatMl = R"({"<|im_start|>": 32001, "<|im_end|>": 32000, "<pad>": 32002, "word": 32003})";

TEST_F(TokenizerFiles, TokensOfAddedTokensJsonCountBesideTokenizerModel) {
  put("tokenizer.model", "m");
  put("added_tokens.json", kChatMl);
  put("special_tokens_map.json", R"({"eos_token": {"content": "<|im_end|>"}, "pad_token": "<pad>"})");
  put("tokenizer_config.json", R"({"eos_token": "</s>", "bos_token": "<s>"})");
  const json all = settings();
  EXPECT_EQ(all["bos_token"], "<s>");
  EXPECT_EQ(all["eos_token"]["content"], "<|im_end|>");
  const json& decoder = all["added_tokens_decoder"];
  EXPECT_EQ(decoder["32000"]["content"], "<|im_end|>");
  EXPECT_EQ(decoder["32001"]["special"], true);
  EXPECT_EQ(decoder["32002"]["special"], true);
  EXPECT_EQ(decoder["32003"]["special"], false);
}

TEST_F(TokenizerFiles, AListOfTheSettingsGoesFirst) {
  put("tokenizer.model", "m");
  put("added_tokens.json", kChatMl);
  put("special_tokens_map.json", R"({"eos_token": "<|im_end|>", "unk_token": "<unk>"})");
  put("tokenizer_config.json",
      R"({"eos_token": "</s>", "unk_token": null, "added_tokens_decoder": {"32000": {"content": "x"}}})");
  const json all = settings();
  EXPECT_EQ(all["eos_token"], "</s>");
  EXPECT_EQ(all["unk_token"], "<unk>");
  EXPECT_EQ(all["added_tokens_decoder"]["32000"]["content"], "x");
  EXPECT_EQ(all["added_tokens_decoder"]["32001"]["content"], "<|im_start|>");
}

TEST_F(TokenizerFiles, TokenizerJsonHasItsOwnTokens) {
  put("tokenizer.json", "{}");
  put("added_tokens.json", kChatMl);
  EXPECT_FALSE(read().tokenizer_config_json);
  put("special_tokens_map.json", R"({"bos_token": "<s>"})");
  EXPECT_EQ(settings(), json::parse(R"({"bos_token": "<s>"})"));
}

TEST_F(TokenizerFiles, OtherVocabulariesAreReadWhereThereIsNoUsualOne) {
  put("config.json", R"({"model_type": "gpt2"})");
  put("tekken.json", "{\"n\": 2.0}");
  put("vocab.json", "{}");
  EXPECT_TRUE(has_vocabulary(root_));
  EXPECT_EQ(read().tekken_json, "{\"n\": 2}");
  fs::remove(root_ / "tekken.json");
  EXPECT_FALSE(has_vocabulary(root_));
  EXPECT_FALSE(has_vocabulary(read()));
  put("merges.txt", "\xef\xbb\xbf#version");
  EXPECT_TRUE(has_vocabulary(root_));
  EXPECT_TRUE(has_vocabulary(read()));
  EXPECT_EQ(read().merges_txt, "#version");
  EXPECT_EQ(read().model_type, "gpt2");
  put("tokenizer.model", "m");
  EXPECT_FALSE(read().vocab_json);
}

TEST_F(TokenizerFiles, BrokenListsAreRefusedByName) {
  put("tokenizer.model", "m");
  put("added_tokens.json", R"({"a": "b"})");
  SideFiles files;
  EXPECT_EQ(read_tokenizer_files(root_, files).error().message,
            (root_ / "added_tokens.json").string() + ": expected the id of 'a'");
}

}  // namespace
}  // namespace realizar
