// What layers have of their own, as files say it: windows, rotations, scales, in GGUF's keys and in config.json's.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/fingerprint.h"
#include "model/model.h"
#include "support/safetensors_writer.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Windows = std::vector<uint32_t>;

Result<ModelConfig> config_of(const test::TinyModel& model) {
  RZ_TRY(const ModelFile file, model.open());
  return read_config(file);
}

const AttentionConfig& attention(const ModelConfig& config, size_t layer) {
  return std::get<AttentionConfig>(config.layers[layer].mixer);
}

Windows windows_of(const Result<ModelConfig>& config) {
  EXPECT_TRUE(config.ok()) << config.error().message;
  Windows windows;
  if (!config.ok()) return windows;
  for (size_t i = 0; i < config->layers.size(); ++i) windows.push_back(attention(*config, i).window);
  return windows;
}

test::TinyModel four_layers(const ArchSpec& spec) {
  test::TinyModel model = test::tiny_model(spec, false, {.n_layers = 4});
  model.keys[std::string(spec.name) + ".attention.sliding_window"] = 16u;
  return model;
}

TEST(LayerConfig, WindowsFollowTheFamilysInterval) {
  EXPECT_EQ(windows_of(config_of(four_layers(kLlama))), (Windows{16, 16, 16, 16}));
  EXPECT_EQ(windows_of(config_of(four_layers(kGemma2))), (Windows{16, 0, 16, 0}));
  EXPECT_EQ(windows_of(config_of(four_layers(kQwen2))), (Windows{0, 0, 0, 0})) << "which has no windows";
}

TEST(LayerConfig, WindowsMayTurnOtherwise) {
  test::TinyModel model = test::tiny_model(kGemma3, false, {.n_layers = 7});
  model.keys["gemma3.attention.sliding_window"] = 16u;
  const auto config = config_of(model);
  EXPECT_EQ(windows_of(config), (Windows{16, 16, 16, 16, 16, 0, 16}));
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(attention(*config, i).rope_idx, i == 5 ? 0u : 1u) << i;
}

TEST(LayerConfig, WindowsFollowTheIntervalOfTheFile) {
  test::TinyModel model = four_layers(kGemma2);
  model.keys["gemma2.attention.sliding_window_pattern"] = 3u;
  EXPECT_EQ(windows_of(config_of(model)), (Windows{16, 16, 0, 16}));
  model.keys["gemma2.attention.sliding_window_pattern"] = 0u;
  EXPECT_EQ(windows_of(config_of(model)), (Windows{16, 16, 16, 16}));
}

TEST(LayerConfig, GgufModelsOfOneDepthScaleAttentionByTheirWidth) {
  const auto scale_of = [](uint32_t n_layers) {
    const auto config = config_of(test::tiny_model(kGemma2, false, {.n_layers = n_layers, .head_dim = 16}));
    EXPECT_TRUE(config.ok()) << config.error().message;
    return config.ok() ? attention(*config, 0).scale : 0;
  };
  EXPECT_FLOAT_EQ(scale_of(42), 1 / std::sqrt(16.0f));
  EXPECT_FLOAT_EQ(scale_of(46), 1 / std::sqrt(32.0f / 4));
}

TEST(LayerConfig, PoolingIsAsTheFileSays) {
  test::TinyModel model = test::tiny_model(kQwen2);
  EXPECT_FALSE(config_of(model)->pools_mean);
  model.keys["qwen2.pooling_type"] = 3u;
  EXPECT_FALSE(config_of(model)->pools_mean);
  model.keys["qwen2.pooling_type"] = 1u;
  EXPECT_TRUE(config_of(model)->pools_mean);
}

// A folder as Hugging Face has it, whose weights are an embedding alone: enough to read its config.
Result<ModelConfig> config_of(const json& config) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(testing::TempDir()) / (std::string("realizar_hf_config_") + test->name());
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  test::SafetensorsWriter weights;
  const std::vector<float> embed(40 * 32);
  weights.add("model.embed_tokens.weight", "F32", {40, 32}, std::as_bytes(std::span(embed)));
  weights.write(folder / "model.safetensors");
  const auto file = ModelFile::open(folder);
  fs::remove_all(folder);  // the map keeps it
  if (!file.ok()) return file.error();
  return read_config(*file);
}

json hf_config(const char* architecture) {
  return {{"architectures", {architecture}},
          {"hidden_size", 32},
          {"intermediate_size", 48},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 8},
          {"max_position_embeddings", 64},
          {"rms_norm_eps", 1e-3},
          {"sliding_window", 16},
          {"attn_logit_softcapping", 2.0},
          {"final_logit_softcapping", 3.0}};
}

const json kMixedLayers = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};

TEST(HfLayerConfig, WindowsByTheListOfLayers) {
  json config = hf_config("Gemma2ForCausalLM");
  EXPECT_EQ(windows_of(config_of(config)), (Windows{16, 0, 16, 0}));
  config["layer_types"] = kMixedLayers;
  EXPECT_EQ(windows_of(config_of(config)), (Windows{16, 0, 0, 16}));
}

TEST(HfLayerConfig, WindowsByAnInterval) {
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    json config = hf_config("Gemma2ForCausalLM");
    config[key] = 3;
    EXPECT_EQ(windows_of(config_of(config)), (Windows{16, 16, 0, 16})) << key;
  }
}

void expect_refused(const json& config, const std::string& said) {
  const auto read = config_of(config);
  ASSERT_FALSE(read.ok()) << config;
  EXPECT_NE(read.error().message.find(said), std::string::npos) << read.error().message;
}

TEST(HfLayerConfig, LayersThatTheFamilyDoesNotHaveAreRefusedByName) {
  json config = hf_config("Gemma2ForCausalLM");
  config["layer_types"] = {"full_attention", "linear_attention", "full_attention", "full_attention"};
  expect_refused(config, "linear_attention");
  config["layer_types"] = {"full_attention"};
  expect_refused(config, "expected 4 entries, actual 1");
  config = hf_config("Qwen3ForCausalLM");
  config["layer_types"] = kMixedLayers;
  expect_refused(config, "sliding_attention");
  config.erase("layer_types");
  config["use_bidirectional_attention"] = true;
  expect_refused(config, "use_bidirectional_attention");
}

}  // namespace
}  // namespace realizar
