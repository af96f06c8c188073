#include "api/generation_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "api/loaded_model.h"
#include "formats/gguf_writer.h"

namespace realizar {
namespace {

class Recommended : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    loaded_ = *LoadedModel::load(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf", {});
  }
  static void TearDownTestSuite() { loaded_.reset(); }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<GenerationConfig> read(GgufWriter& writer) const {
    writer.add_string("general.architecture", "llama");
    writer.add_tensor("token_embd.weight", TypeId::kF32, {2, 2}, std::vector<float>(4));
    EXPECT_TRUE(writer.write(path_).ok());
    const auto file = ModelFile::open(path_.string());
    EXPECT_TRUE(file.ok()) << file.error().message;
    return read_generation_config(*file, *loaded_->tokenizer);
  }

  static std::unique_ptr<LoadedModel> loaded_;
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("rz_recommended_" + std::to_string(::getpid()) + ".gguf");
};

std::unique_ptr<LoadedModel> Recommended::loaded_;

TEST_F(Recommended, NothingLeavesTheDefaults) {
  GgufWriter writer;
  const auto config = read(writer);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->sampling.top_k, SamplingParams().top_k);
  EXPECT_EQ(config->sampling.mirostat, 0);
  EXPECT_EQ(config->sampling.samplers, std::nullopt);
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
  const auto config = read(writer);
  ASSERT_TRUE(config.ok()) << config.error().message;
  const SamplingParams& sampling = config->sampling;
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

TEST_F(Recommended, WhatNoRequestCouldAskForIsTheFilesError) {
  GgufWriter warm, third;
  warm.add_string("general.sampling.sequence", "top_k;warm");
  third.add_u32("general.sampling.mirostat", 3);
  for (const auto& [writer, subject] : {std::pair{&warm, "samplers"}, {&third, "mirostat"}}) {
    const auto config = read(*writer);
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().code, ErrorCode::kFormatError);
    EXPECT_EQ(config.error().subject, subject);
  }
}

}  // namespace
}  // namespace realizar
