#include "api/generation_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "api/loaded_model.h"
#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"

namespace realizar {
namespace {

class Recommended : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    loaded_ = *LoadedModel::load(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf", {});
  }
  static void TearDownTestSuite() { loaded_.reset(); }

  Result<GenerationConfig> read(GgufWriter& writer) const {
    writer.add_string("general.architecture", "llama");
    writer.add_tensor("token_embd.weight", TypeId::kF32, {2, 2}, std::vector<float>(4));
    EXPECT_TRUE(writer.write(path_).ok());
    const auto file = must(ModelFile::open(path_.string()));
    return read_generation_config(file, *loaded_->tokenizer);
  }

  static std::unique_ptr<LoadedModel> loaded_;
  const TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "model.gguf";
};

std::unique_ptr<LoadedModel> Recommended::loaded_;

TEST_F(Recommended, NothingLeavesTheDefaults) {
  GgufWriter writer;
  const auto config = must(read(writer));
  EXPECT_EQ(config.sampling.top_k, SamplingParams().top_k);
  EXPECT_EQ(config.sampling.mirostat, 0);
  EXPECT_EQ(config.sampling.samplers, std::nullopt);
}

TEST_F(Recommended, SamplersAndTheirOrderAreRead) {
  GgufWriter writer;
  writer.add_string("general.sampling.sequence", "penalties;top_k;temperature");
  writer.add_u32("general.sampling.top_k", 7);
  writer.add_f32("general.sampling.temp", 0.5f);
  writer.add_u32("general.sampling.mirostat", 2);
  writer.add_f32("general.sampling.mirostat_tau", 3);
  writer.add_f32("general.sampling.mirostat_eta", 0.25f);
  writer.add_f32("general.sampling.xtc_probability", 0.5f);
  writer.add_f32("general.sampling.xtc_threshold", 0.2f);
  const auto config = must(read(writer));
  const SamplingParams& sampling = config.sampling;
  EXPECT_EQ(sampling.samplers,
            (std::vector<SamplerKind>{SamplerKind::kPenalties, SamplerKind::kTopK, SamplerKind::kTemperature}));
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_FLOAT_EQ(sampling.temperature, 0.5f);
  EXPECT_EQ(sampling.mirostat, 2);
  EXPECT_FLOAT_EQ(sampling.mirostat_tau, 3);
  EXPECT_FLOAT_EQ(sampling.mirostat_eta, 0.25f);
  EXPECT_FLOAT_EQ(sampling.xtc_probability, 0.5f);
  EXPECT_FLOAT_EQ(sampling.xtc_threshold, 0.2f);
}

// Whether one of the notes contains all the words.
bool tells(const GenerationConfig& config, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(config.notes, [&](const std::string& note) {
    return std::ranges::all_of(words, [&](std::string_view word) { return note.find(word) != std::string::npos; });
  });
}

TEST_F(Recommended, WhatNoRequestCouldAskForIsLeftOutWithANote) {
  GgufWriter writer;
  writer.add_string("general.sampling.sequence", "top_k;warm");
  writer.add_u32("general.sampling.mirostat", 3);
  writer.add_f32("general.sampling.temp", -1);
  writer.add_f32("general.sampling.top_p", std::numeric_limits<float>::quiet_NaN());
  writer.add_string("general.sampling.min_p", "much");
  writer.add_f32("general.sampling.penalty_repeat", 1.5f);
  const auto config = must(read(writer));
  EXPECT_EQ(config.sampling.samplers, std::nullopt);
  EXPECT_EQ(config.sampling.mirostat, 0);
  EXPECT_EQ(config.sampling.temperature, SamplingParams().temperature);
  EXPECT_EQ(config.sampling.top_p, SamplingParams().top_p);
  EXPECT_FLOAT_EQ(config.sampling.repeat_penalty, 1.5f);
  for (const char* key : {"sequence", "mirostat", "temp", "top_p", "min_p"}) {
    EXPECT_TRUE(tells(config, {path_.filename().string(), "general.sampling." + std::string(key)})) << key;
  }
}

TEST_F(Recommended, MinusOneIsNoTopK) {
  GgufWriter writer;
  writer.add_i32("general.sampling.top_k", -1);
  const auto config = must(read(writer));
  EXPECT_EQ(config.sampling.top_k, 0);
  EXPECT_TRUE(config.notes.empty());
}

TEST_F(Recommended, IdsOutsideTheVocabularyAreLeftOutWithANote) {
  GgufWriter writer;
  writer.add_u32("tokenizer.ggml.eot_token_id", 4000000000);
  writer.add_u32("tokenizer.ggml.padding_token_id", 4000000000);
  writer.add_i32("tokenizer.ggml.mask_token_id", -1);
  writer.add_u32("tokenizer.ggml.bos_token_id", 0);
  const auto config = must(read(writer));
  for (const char* key : {"eot_token_id", "padding_token_id", "mask_token_id"}) {
    EXPECT_TRUE(tells(config, {"tokenizer.ggml." + std::string(key)})) << key;
  }
  EXPECT_FALSE(tells(config, {"bos_token_id"}));
}

TEST_F(Recommended, AUsersEndsGoOverTheFiles) {
  GgufWriter writer;
  writer.add_u32("tokenizer.ggml.eot_token_id", 65);
  const std::string piece(loaded_->tokenizer->piece(TokenId{65}));
  auto config = read(writer);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->end_tokens.front(), TokenId{65});
  EXPECT_EQ(config->ends.front().sources, std::vector<std::string>{"tokenizer.ggml.eot_token_id"});
  const auto file = ModelFile::open(path_.string());
  config = read_generation_config(*file, *loaded_->tokenizer, {.ends = {}, .no_ends = {piece}});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(std::ranges::count(config->end_tokens, TokenId{65}), 0);
  config = read_generation_config(*file, *loaded_->tokenizer, {.ends = {"no such token"}, .no_ends = {}});
  EXPECT_TRUE(fails_with(config, ErrorCode::kInvalidArgument, "", "ends"));
}

TEST(OllamaParams, AModelsOwnAreLeftOutAndARequestsRefused) {
  constexpr const char* kParams = R"({"top_p":7,"temperature":0.5,"top_k":-1,"num_ctx":"x"})";
  GenerationConfig config;
  ASSERT_TRUE(apply_ollama_params(kParams, config).ok());
  EXPECT_EQ(config.sampling.top_p, SamplingParams().top_p);
  EXPECT_FLOAT_EQ(config.sampling.temperature, 0.5f);
  EXPECT_EQ(config.sampling.top_k, 0);
  EXPECT_EQ(config.notes.size(), 2u);
  EXPECT_TRUE(tells(config, {"params", "top_p"}));
  EXPECT_FALSE(apply_ollama_params(kParams, config, WrongParams::kError).ok());
}

}  // namespace
}  // namespace realizar
