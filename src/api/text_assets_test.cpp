#include "api/text_assets.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"
#include "text/chat_template.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

const fs::path kHfModel = RZ_SOURCE_DIR "/tests/data/conformance/qwen3-hf";
const fs::path kSentencePiece = RZ_SOURCE_DIR "/tests/data/sentencepiece/bpe.model";

class TextAssetsTest : public testing::Test {
 protected:
  void copy(const fs::path& from, const std::string& name) const { fs::copy_file(from, folder_ / name); }
  static std::vector<TokenId> encode(const fs::path& path) {
    return must(open_text_assets(path)).tokenizer.encode("Hello world");
  }

  TempFolder folder_;
};

TEST_F(TextAssetsTest, AFolderNeedsNoWeightsAndNoConfig) {
  const auto expected = encode(kHfModel);
  ASSERT_FALSE(expected.empty());
  copy(kHfModel / "tokenizer.json", "tokenizer.json");
  EXPECT_EQ(encode(folder_), expected);
  EXPECT_EQ(encode(folder_ / "tokenizer.json"), expected);
  EXPECT_FALSE(open_text_assets(folder_)->chat_template);
  std::ofstream(folder_ / "chat_template.jinja") << "{{ messages }}";
  ASSERT_TRUE(open_text_assets(folder_)->chat_template);
  EXPECT_EQ(open_text_assets(folder_)->chat_template->source, "{{ messages }}");
  EXPECT_TRUE(open_text_assets(folder_ / "tokenizer.json")->chat_template);
}

TEST_F(TextAssetsTest, OfTwoTokenizersTheOneThatIsNamedIsTaken) {
  copy(kSentencePiece, "tokenizer.model");
  const auto of_model = encode(folder_);
  ASSERT_FALSE(of_model.empty());
  copy(kHfModel / "tokenizer.json", "tokenizer.json");
  EXPECT_EQ(encode(folder_ / "tokenizer.model"), of_model);
  EXPECT_EQ(encode(folder_ / "tokenizer.json"), encode(kHfModel));
  EXPECT_NE(encode(folder_), of_model) << "tokenizer.json goes first, as for a model";
}

TEST_F(TextAssetsTest, AGgufFileStandsForItselfWhateverLiesThere) {
  const fs::path gguf = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
  copy(kHfModel / "tokenizer.json", "tokenizer.json");
  copy(gguf, "model.gguf");
  EXPECT_EQ(encode(folder_), encode(gguf));
  EXPECT_EQ(encode(folder_ / "model.gguf"), encode(gguf));
  EXPECT_TRUE(open_text_assets(folder_)->chat_template);
}

TEST_F(TextAssetsTest, AFolderMayHaveTheVocabularyOfRwkv) {
  copy(RZ_SOURCE_DIR "/tests/data/tokenizers/rwkv.vocab.txt", "rwkv_vocab_v20230424.txt");
  const auto ids = encode(folder_);
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(open_text_assets(folder_)->tokenizer.decode(ids), "Hello world");
  EXPECT_EQ(encode(folder_ / "rwkv_vocab_v20230424.txt"), ids);
  copy(kHfModel / "tokenizer.json", "tokenizer.json");
  EXPECT_EQ(encode(folder_ / "rwkv_vocab_v20230424.txt"), ids);
  EXPECT_NE(encode(folder_), ids) << "tokenizer.json goes first, as for a model";
}

TEST_F(TextAssetsTest, TheTemplateOfRwkvMayBeAName) {
  GgufWriter writer;
  writer.add_string("general.architecture", "rwkv7");
  writer.add_string("tokenizer.ggml.model", "rwkv");
  writer.add_strings("tokenizer.ggml.tokens", {"<s>", "a"});
  writer.add_u32("tokenizer.ggml.unknown_token_id", 0);
  writer.add_string("tokenizer.chat_template", "rwkv-world");
  ASSERT_TRUE(writer.write(folder_ / "model.gguf").ok());
  const auto assets = must(open_text_assets(folder_ / "model.gguf"));
  ASSERT_TRUE(assets.chat_template);
  const auto chat = must(text::ChatTemplate::parse(assets.chat_template->source));
  const auto pieces = must(chat.render(
      {{"messages", {{{"role", "system"}, {"content", "Be brief."}}, {{"role", "user"}, {"content", " Hello "}}}},
       {"add_generation_prompt", true}},
      0));
  std::string prompt;
  for (const auto& piece : pieces) prompt += piece.text;
  EXPECT_EQ(prompt, "System: Be brief.\n\nUser: Hello\n\nAssistant:");
}

TEST_F(TextAssetsTest, WhatIsWrongIsToldWithThePath) {
  EXPECT_EQ(open_text_assets(folder_ / "tokenizer.json").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(fails_with(open_text_assets(folder_), "there is no model in " + folder_.string()));
  std::ofstream(folder_ / "tokenizer.json") << "{";
  EXPECT_TRUE(open_text_assets(folder_).error().message.starts_with(folder_.string()));
}

}  // namespace
}  // namespace realizar
