// Settings of individual layers in files: windows, rotations, scales, in GGUF's keys and in config.json's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/try.h"
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
  EXPECT_EQ(config_of(model)->pooling, Pooling::kLast);
  model.keys["qwen2.pooling_type"] = 3u;
  EXPECT_EQ(config_of(model)->pooling, Pooling::kLast);
  model.keys["qwen2.pooling_type"] = 1u;
  EXPECT_EQ(config_of(model)->pooling, Pooling::kMean);
  model.keys["qwen2.pooling_type"] = 5u;
  EXPECT_FALSE(config_of(model).ok());
  test::TinyModel encoder = test::tiny_model(kBert);
  EXPECT_EQ(config_of(encoder)->pooling, Pooling::kMean);
  encoder.keys["bert.pooling_type"] = 2u;
  EXPECT_EQ(config_of(encoder)->pooling, Pooling::kFirst);
  encoder.keys["bert.pooling_type"] = 4u;
  EXPECT_FALSE(config_of(encoder).ok()) << "it has nothing that makes scores";
  EXPECT_EQ(config_of(test::tiny_model(kBert, false, {.n_labels = 1}))->pooling, Pooling::kRank);
}

// A folder in Hugging Face's format, with only an embedding and the tensors that identify the family: enough to read
// its config.
Result<ModelConfig> config_of(const json& config, const std::vector<std::string>& names = {"model.embed_tokens.weight"},
                              float step = 0) {
  const fs::path folder = fs::path(testing::TempDir()) / ("realizar_hf_config." + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  test::SafetensorsWriter weights;
  std::vector<std::vector<float>> tensors;  // each `step` above the previous one
  for (size_t i = 0; i < names.size(); ++i) tensors.emplace_back(40 * 32, step * static_cast<float>(i));
  for (size_t i = 0; i < names.size(); ++i) {
    weights.add(names[i], "F32", {40, 32}, std::as_bytes(std::span(tensors[i])));
  }
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

json with(json config, const json& more) {
  config.update(more);
  return config;
}

// transformers: Qwen2Config, Qwen2MoeConfig, Qwen3MoeConfig.
TEST(HfLayerConfig, WindowsByAFlagAndABorder) {
  for (const char* architecture : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    const json config = hf_config(architecture);
    EXPECT_EQ(windows_of(config_of(config)), (Windows{0, 0, 0, 0})) << "without the flag";
    const json on = with(config, {{"use_sliding_window", true}});
    EXPECT_EQ(windows_of(config_of(on)), (Windows{0, 0, 0, 0})) << "28 layers have none";
    EXPECT_EQ(windows_of(config_of(with(on, {{"max_window_layers", 3}}))), (Windows{0, 0, 0, 16}));
    EXPECT_EQ(windows_of(config_of(with(on, {{"max_window_layers", 0}}))), (Windows{16, 16, 16, 16}));
    EXPECT_EQ(windows_of(config_of(with(on, {{"max_window_layers", 0}, {"sliding_window", nullptr}}))),
              (Windows{0, 0, 0, 0}));
    EXPECT_EQ(windows_of(config_of(with(on, {{"max_window_layers", 0}, {"layer_types", kMixedLayers}}))),
              (Windows{16, 0, 0, 16}));
  }
  const json experts = {{"num_experts", 4},
                        {"num_experts_per_tok", 2},
                        {"moe_intermediate_size", 24},
                        {"shared_expert_intermediate_size", 24},
                        {"use_sliding_window", true},
                        {"max_window_layers", 3}};
  EXPECT_EQ(windows_of(config_of(with(hf_config("Qwen2MoeForCausalLM"), experts))), (Windows{16, 0, 16, 0}));
  EXPECT_EQ(windows_of(config_of(with(hf_config("Qwen3MoeForCausalLM"), experts))), (Windows{16, 16, 16, 16}));
}

TEST(HfLayerConfig, AFlagForWindowsIsRefusedWhereTheFamilyHasNoRuleForIt) {
  const json config = with(hf_config("SmolLM3ForCausalLM"), {{"use_sliding_window", true}});
  const auto read = config_of(config);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("config"), std::string::npos) << read.error().message;
  EXPECT_NE(read.error().message.find("use_sliding_window"), std::string::npos) << read.error().message;
  EXPECT_TRUE(config_of(with(config, {{"sliding_window", nullptr}})).ok());
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

TEST(HfLayerConfig, BaichuansVocabularyTellsWhetherTheHeadIsNormalized) {
  json config = hf_config("BaichuanForCausalLM");
  config["num_key_value_heads"] = 4;
  for (const auto& [n_vocab, is_normalized] : {std::pair(64000, false), {125696, true}}) {
    config["vocab_size"] = n_vocab;
    config["tie_word_embeddings"] = false;
    const auto read = config_of(config);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->has_unit_head, is_normalized) << n_vocab;
  }
  config["tie_word_embeddings"] = true;
  expect_refused(config, "tie_word_embeddings");
  config["vocab_size"] = 125697;
  expect_refused(config, "vocab_size");
}

TEST(HfLayerConfig, BambaHasOneGroup) {
  json config = hf_config("BambaForCausalLM");
  config.update({{"attn_layer_indices", {1}},
                 {"mamba_n_heads", 8},
                 {"mamba_d_head", 8},
                 {"mamba_n_groups", 1},
                 {"mamba_d_state", 8},
                 {"mamba_d_conv", 4}});
  const auto read = config_of(config);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->ropes[0].n_rot, 4u) << "half of each head";
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::holds_alternative<AttentionConfig>(read->layers[i].mixer), i == 1) << i;
  config["mamba_n_groups"] = 2;
  expect_refused(config, "mamba_n_groups");
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

// The first rotation of a Llama of 8 dimensions a head, with these settings.
RopeConfig rope_with(const json& more) {
  const auto config = config_of(with(hf_config("LlamaForCausalLM"), more));
  EXPECT_TRUE(config.ok()) << config.error().message << more;
  return config.ok() ? config->ropes.at(0) : RopeConfig();
}

void expect_same(const json& a, const json& b) {
  const RopeConfig own = rope_with(a), other = rope_with(b);
  EXPECT_EQ(own.inv_freq, other.inv_freq) << a << b;
  EXPECT_EQ(own.scale, other.scale) << a << b;
}

// transformers, modeling_rope_utils; the model has 64 positions.
TEST(HfRope, NumbersThatAreLeftOutAreThoseOfTransformers) {
  const auto scaling = [](json settings) { return json{{"rope_scaling", std::move(settings)}}; };
  const json yarn = {{"rope_type", "yarn"}, {"factor", 4}, {"original_max_position_embeddings", 16}};
  EXPECT_GT(rope_with(scaling(yarn)).scale, 1.1f);
  for (const char* key : {"factor", "beta_fast"}) {
    expect_same(scaling(with(yarn, {{key, nullptr}})), scaling(yarn));
  }
  json no_factor = yarn;
  no_factor.erase("factor");
  expect_same(scaling(no_factor), scaling(yarn));
  expect_same({{"rope_parameters", no_factor}}, scaling(yarn));
  expect_same(scaling(with(yarn, {{"beta_fast", 32}, {"beta_slow", 1}})), scaling(yarn));
  expect_same(scaling(with(yarn, {{"mscale", 1}, {"mscale_all_dim", 0}})), scaling(yarn));
  json outer = scaling(no_factor);
  outer["rope_scaling"].erase("original_max_position_embeddings");
  outer["original_max_position_embeddings"] = 16;
  expect_same(outer, scaling(yarn));
  const json llama3 = {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}};
  expect_same(scaling(llama3), scaling(with(llama3, {{"original_max_position_embeddings", 64}})));
  expect_same(scaling({{"type", "mrope"}, {"mrope_section", {1, 1, 2}}}), json::object());
}

TEST(HfRope, LongRopeTakesItsFactorOrTheRatioOfTheContexts) {
  const json longrope = {{"rope_type", "longrope"},
                         {"original_max_position_embeddings", 16},
                         {"long_factor", {1, 2, 3, 4}},
                         {"short_factor", {1, 1, 1, 1}}};
  const auto scale = [](double factor) { return static_cast<float>(std::sqrt(1 + std::log(factor) / std::log(16.0))); };
  EXPECT_FLOAT_EQ(rope_with({{"rope_scaling", longrope}}).scale, scale(4));
  EXPECT_FLOAT_EQ(rope_with({{"rope_scaling", with(longrope, {{"factor", 8}})}}).scale, scale(8));
}

TEST(HfRope, ScalingsWithoutWhatTheyNeedAreRefusedByKey) {
  for (const char* type : {"linear", "dynamic", "llama3"}) {
    const json config = with(hf_config("LlamaForCausalLM"), {{"rope_scaling", {{"rope_type", type}}}});
    expect_refused(config, "rope_scaling.factor: expected a finite number above 0, actual nothing");
  }
  for (const char* type : {"linear", "dynamic", "yarn", "longrope", "default"}) {
    const json config = with(hf_config("LlamaForCausalLM"), {{"rope_scaling", {{"rope_type", type}, {"factor", 0}}}});
    expect_refused(config, "rope_scaling.factor: expected a finite number above 0, actual 0");
  }
  json config = hf_config("LlamaForCausalLM");
  config["rope_scaling"] = {{"rope_type", "longrope"}, {"long_factor", {1, 2, 0, 4}}, {"short_factor", {1, 2, 0, 4}}};
  expect_refused(config, "rope_scaling.short_factor: expected finite numbers above 0, actual 0");
}

TEST(HfRope, LayersWithAWindowMayHaveAScalingOfTheirOwn) {
  const json plain = {{"rope_type", "default"}, {"rope_theta", 10000}};
  const json linear = {{"rope_type", "linear"}, {"rope_theta", 10000}, {"factor", 2}};
  for (const char* architecture : {"Gemma3ForCausalLM", "Qwen3ForCausalLM"}) {
    json config = with(hf_config(architecture), {{"layer_types", kMixedLayers}, {"use_sliding_window", true}});
    config.erase("attn_logit_softcapping");
    config.erase("final_logit_softcapping");
    config["rope_parameters"] = {{"full_attention", plain}, {"sliding_attention", linear}};
    const auto read = config_of(config);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->ropes.size(), 2u) << architecture;
    EXPECT_FLOAT_EQ(read->ropes[0].inv_freq[0], 1);
    EXPECT_FLOAT_EQ(read->ropes[1].inv_freq[0], 0.5f);
    EXPECT_EQ(attention(*read, 0).rope_idx, 1u);
    EXPECT_EQ(attention(*read, 1).rope_idx, 0u);
  }
}

TEST(HfHead, IsTheFilesWhereItDiffersFromTheEmbeddingsThatItIsSaidToBe) {
  const json config = with(hf_config("LlamaForCausalLM"), {{"tie_word_embeddings", true}});
  const std::vector<std::string> names = {"model.embed_tokens.weight", "lm_head.weight"};
  EXPECT_TRUE(config_of(config, names)->is_head_tied) << "a copy";
  EXPECT_FALSE(config_of(config, names, 1)->is_head_tied);
  EXPECT_FALSE(config_of(with(config, {{"tie_word_embeddings", false}}), names)->is_head_tied);
}

TEST(HfClasses, OfModelsWithoutAHeadAreOfTheSameFamily) {
  for (const auto& [bare, arch] :
       {std::pair("LlamaModel", "llama"), std::pair("MistralModel", "llama"), std::pair("Qwen2Model", "qwen2"),
        std::pair("Qwen3Model", "qwen3"), std::pair("Gemma2Model", "gemma2")}) {
    const json config =
        with(hf_config("LlamaForCausalLM"), {{"architectures", {bare}}, {"tie_word_embeddings", false}});
    const auto read = config_of(config);
    ASSERT_TRUE(read.ok()) << bare << read.error().message;
    EXPECT_EQ(read->arch, arch);
    EXPECT_FALSE(gives_text(*read)) << bare;
    EXPECT_TRUE(gives_text(*config_of(config, {"model.embed_tokens.weight", "lm_head.weight"}, 1))) << bare;
  }
  expect_refused(with(hf_config("LlamaForCausalLM"), {{"architectures", {"NoSuchModel"}}}), "NoSuchModel");
  expect_refused(with(hf_config("LlamaForCausalLM"), {{"architectures", {"Model"}}}), "'Model'");
}

TEST(HfClasses, AreFoundByTheModelTypeWhereThereAreNone) {
  for (const auto& [type, arch] : {std::pair("llama", "llama"), std::pair("mistral", "llama"),
                                   std::pair("qwen2", "qwen2"), std::pair("gemma2", "gemma2")}) {
    json config = with(hf_config("LlamaForCausalLM"), {{"model_type", type}});
    config.erase("architectures");
    const auto read = config_of(config);
    ASSERT_TRUE(read.ok()) << type << read.error().message;
    EXPECT_EQ(read->arch, arch);
    EXPECT_TRUE(gives_text(*read));
  }
  json config = with(hf_config("LlamaForCausalLM"), {{"model_type", "novel"}});
  config.erase("architectures");
  expect_refused(config, "novel");
  config.erase("model_type");
  expect_refused(config, "architectures is missing");
}

// The config's router is the file's; if the file is silent, the family's.
TEST(Routing, IsReadFromTheFile) {
  test::TinyModel model = test::tiny_model(kQwen2Moe);
  const auto experts = [&model]() -> ExpertsConfig {
    const auto file = model.open();
    const auto config = read_config(*file);
    EXPECT_TRUE(config.ok()) << config.error().message;
    return config.ok() ? std::get<ExpertsConfig>(config->layers[1].ffn) : ExpertsConfig{};
  };
  const ExpertsConfig silent = experts();
  EXPECT_FALSE(silent.renormalize);
  EXPECT_EQ(silent.score, RouteScore::kSoftmax);
  EXPECT_EQ(silent.scale, 1.0f);
  EXPECT_EQ(silent.n_groups, 1u);
  EXPECT_EQ(silent.d_shared_ff, 20u);
  EXPECT_TRUE(silent.has_shared_router);
  model.keys["qwen2moe.expert_weights_norm"] = true;
  model.keys["qwen2moe.expert_gating_func"] = 2u;
  model.keys["qwen2moe.expert_weights_scale"] = 2.5f;
  model.keys["qwen2moe.expert_group_count"] = 2u;
  model.keys["qwen2moe.expert_group_used_count"] = 1u;
  const ExpertsConfig said = experts();
  EXPECT_TRUE(said.renormalize);
  EXPECT_EQ(said.score, RouteScore::kSigmoid);
  EXPECT_EQ(said.scale, 2.5f);
  EXPECT_EQ(said.n_groups, 2u);
  EXPECT_EQ(said.n_used_groups, 1u);
  EXPECT_EQ(said.n_group_best, 2u);
  model.keys["qwen2moe.expert_weights_norm"] = false;
  model.keys["qwen2moe.expert_gating_func"] = 3u;  // the softmax of the chosen ones
  EXPECT_EQ(experts().score, RouteScore::kSoftmax);
  EXPECT_TRUE(experts().renormalize);
  model.keys.erase("qwen2moe.expert_shared_feed_forward_length");
  model.keys["qwen2moe.expert_shared_count"] = 3u;
  EXPECT_EQ(experts().d_shared_ff, 3u * 24);
}

TEST(Routing, SparseMixerIsThatOfPhiMoesFolders) {
  json folder = hf_config("PhimoeForCausalLM");
  folder["num_local_experts"] = 6;
  folder["num_experts_per_tok"] = 2;
  const auto config = config_of(folder);
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto& experts = std::get<ExpertsConfig>(config->layers[1].ffn);
  EXPECT_EQ(experts.score, RouteScore::kSparseMixer);
  EXPECT_FLOAT_EQ(experts.near_share, 0.02f);
  EXPECT_FALSE(experts.renormalize);
  EXPECT_EQ(config->norm, NormKind::kLayer);
  EXPECT_EQ(windows_of(config), (Windows{16, 16, 16, 16}));
  folder["router_jitter_noise"] = 0.05;
  EXPECT_FLOAT_EQ(std::get<ExpertsConfig>(config_of(folder)->layers[1].ffn).near_share, 0.1f);
  folder["router_jitter_noise"] = -1;
  expect_refused(folder, "router_jitter_noise");
  folder["router_jitter_noise"] = 0.01;
  folder["num_experts_per_tok"] = 3;
  expect_refused(folder, "num_experts_per_tok");
  const auto gguf = config_of(four_layers(kPhiMoe));
  EXPECT_EQ(gguf->norm, NormKind::kRms);
  EXPECT_EQ(windows_of(gguf), (Windows{0, 0, 0, 0}));
  EXPECT_EQ(std::get<ExpertsConfig>(gguf->layers[1].ffn).score, RouteScore::kSoftmax);
}

TEST(Routing, ExpertsFollowTheDenseLayersAndTheInterval) {
  const auto layers_with_experts = [](uint32_t n_dense, uint32_t interval) {
    const auto config = config_of(
        test::tiny_model(kErnie45Moe, true, {.n_layers = 6, .n_dense = n_dense, .expert_interval = interval}));
    EXPECT_TRUE(config.ok()) << config.error().message;
    std::vector<size_t> layers;
    for (size_t i = 0; config.ok() && i < 6; ++i) {
      if (std::holds_alternative<ExpertsConfig>(config->layers[i].ffn)) layers.push_back(i);
    }
    return layers;
  };
  EXPECT_EQ(layers_with_experts(0, 1), (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(layers_with_experts(4, 1), (std::vector<size_t>{4, 5}));
  EXPECT_EQ(layers_with_experts(2, 2), (std::vector<size_t>{3, 5}));
}

// Three layers of four in chunks, rotated and normalized; the fourth sees all, and its queries grow with the position.
TEST(HfLayerConfig, Llama4HasChunksWhereItRotates) {
  json config = hf_config("Llama4ForCausalLM");
  config.update({{"intermediate_size_mlp", 40},
                 {"num_local_experts", 4},
                 {"num_experts_per_tok", 1},
                 {"interleave_moe_layer_step", 2},
                 {"attention_chunk_size", 16},
                 {"floor_scale", 32},
                 {"attn_scale", 0.2},
                 {"attn_temperature_tuning", true}});
  auto read = config_of(config);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(windows_of(read), (Windows{16, 16, 16, 0}));
  for (size_t i = 0; i < 4; ++i) {
    const AttentionConfig& own = attention(*read, i);
    EXPECT_EQ(own.is_chunked, i < 3) << i;
    EXPECT_EQ(own.rope_idx, i < 3 ? 0 : kNoRope) << i;
    EXPECT_EQ(own.qk_norm, i < 3 ? QkNorm::kUnitHead : QkNorm::kNone) << i;
    EXPECT_FLOAT_EQ(own.temperature, i < 3 ? 0 : 0.2f) << i;
    EXPECT_EQ(std::holds_alternative<ExpertsConfig>(read->layers[i].ffn), i % 2 == 1) << i;
  }
  EXPECT_EQ(attention(*read, 3).temperature_step, 32u);
  EXPECT_EQ(attention(*read, 3).temperature_offset, 1u);
  EXPECT_EQ(std::get<GatedConfig>(read->layers[0].ffn).d_ff, 40u);
  EXPECT_EQ(std::get<ExpertsConfig>(read->layers[1].ffn).d_ff, 48u);
  config["attn_temperature_tuning"] = false;
  config["moe_layers"] = {0};
  read = config_of(config);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(attention(*read, 3).temperature, 0);
  EXPECT_TRUE(std::holds_alternative<ExpertsConfig>(read->layers[0].ffn));
  EXPECT_TRUE(std::holds_alternative<GatedConfig>(read->layers[1].ffn));
}

TEST(HfRouting, ErniesExpertsEndAtALayer) {
  json config = hf_config("Ernie4_5_MoeForCausalLM");
  config.update({{"moe_num_experts", 4}, {"moe_k", 2}, {"moe_intermediate_size", 16}, {"moe_layer_start_index", 1}});
  for (const auto& [end, layers] : {std::pair(-1, 3), std::pair(3, 3), std::pair(2, 2)}) {
    config["moe_layer_end_index"] = end;
    const auto read = config_of(config);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const auto has_experts = [](const LayerConfig& c) { return std::holds_alternative<ExpertsConfig>(c.ffn); };
    EXPECT_EQ(std::ranges::count_if(read->layers, has_experts), layers) << end;
  }
}

json hf_deepseek() {
  json config = hf_config("DeepseekV3ForCausalLM");
  config.update({{"kv_lora_rank", 16},
                 {"qk_nope_head_dim", 8},
                 {"qk_rope_head_dim", 4},
                 {"v_head_dim", 8},
                 {"n_routed_experts", 8},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 16},
                 {"n_shared_experts", 1},
                 {"n_group", 4},
                 {"topk_group", 2},
                 {"scoring_func", "sigmoid"}});
  return config;
}

TEST(HfRouting, GroupsAreChosenByTheNamedRule) {
  const auto experts = [](const char* method) {
    json config = hf_deepseek();
    config["topk_method"] = method;
    const auto read = config_of(config);
    EXPECT_TRUE(read.ok()) << read.error().message;
    return read.ok() ? std::get<ExpertsConfig>(read->layers[0].ffn) : ExpertsConfig{};
  };
  EXPECT_EQ(experts("greedy").n_groups, 1u);
  EXPECT_EQ(experts("group_limited_greedy").n_groups, 4u);
  EXPECT_EQ(experts("group_limited_greedy").n_group_best, 1u);
  EXPECT_EQ(experts("noaux_tc").n_group_best, 2u);
  EXPECT_EQ(experts("noaux_tc").score, RouteScore::kSigmoid);
}

TEST(HfRouting, WhatIsNotComputedIsRefusedByName) {
  const auto with = [](json config, const json& settings) {
    config.update(settings);
    return config;
  };
  expect_refused(with(hf_deepseek(), {{"topk_method", "random"}}), "topk_method = 'random'");
  expect_refused(with(hf_deepseek(), {{"scoring_func", "sqrtsoftplus"}}), "scoring_func = 'sqrtsoftplus'");
  expect_refused(with(hf_deepseek(), {{"moe_layer_freq", 2}}), "moe_layer_freq");
  expect_refused(with(hf_deepseek(), {{"attention_bias", true}}), "attention_bias");
  const json experts = {{"num_experts", 4}, {"num_local_experts", 4}, {"num_experts_per_tok", 2}};
  expect_refused(with(hf_config("OlmoeForCausalLM"), with(experts, {{"clip_qkv", 8.0}})), "clip_qkv = 8");
  expect_refused(with(hf_config("GptOssForCausalLM"), with(experts, {{"swiglu_limit", 5.0}})), "swiglu_limit = 5");
}

float cut_of(const ModelConfig& config, size_t layer) {
  return std::get<GatedConfig>(config.layers[layer].ffn).n_stds;
}

// config.json has the share of gates that is cut; torch.distributions gives 1.6448533535003662 for 0.95.
TEST(HfLayerConfig, Gemma3nsGatesAreCutWhereTheFileSays) {
  json config = hf_config("Gemma3nForCausalLM");
  config["activation_sparsity_pattern"] = {0.95, 0.5, 0.0, 0.05};
  auto read = config_of(config);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_NEAR(cut_of(*read, 0), 1.6448533535003662, 3e-7);
  EXPECT_NEAR(cut_of(*read, 1), 0, 1e-12);
  EXPECT_EQ(cut_of(*read, 2), kNoCut);
  EXPECT_NEAR(cut_of(*read, 3), -1.6448536, 3e-7);
  config.erase("activation_sparsity_pattern");
  EXPECT_EQ(cut_of(*config_of(config), 0), kNoCut);
  config["num_hidden_layers"] = 11;
  read = config_of(config);
  EXPECT_NEAR(cut_of(*read, 9), 1.6448533535003662, 3e-7);
  EXPECT_EQ(cut_of(*read, 10), kNoCut);
  config["activation_sparsity_pattern"] = {0.95};
  expect_refused(config, "activation_sparsity_pattern: expected 11 entries, actual 1");
  config["activation_sparsity_pattern"] = std::vector<double>(11, 1.0);
  expect_refused(config, "activation_sparsity_pattern");
}

TEST(HfLayerConfig, Gemma3nsStreamsAreAsTheFileSays) {
  json config = hf_config("Gemma3nForCausalLM");
  config.erase("final_logit_softcapping");
  auto read = config_of(config);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->altup.n_streams, 4u);
  EXPECT_EQ(read->altup.laurel_rank, 64u);
  EXPECT_EQ(read->layer_table.n_vocab, read->n_vocab);
  EXPECT_EQ(read->final_softcap, 30.0f);
  EXPECT_EQ(attention(*read, 0).scale, 1.0f);
  config.update({{"altup_num_inputs", 2}, {"laurel_rank", 8}, {"vocab_size_per_layer_input", 30}});
  read = config_of(config);
  EXPECT_EQ(read->altup.n_streams, 2u);
  EXPECT_EQ(read->altup.laurel_rank, 8u);
  EXPECT_EQ(read->layer_table.n_vocab, 30u);
  for (const json& refused :
       {json::object({{"altup_num_inputs", 5}}), json::object({{"altup_active_idx", 1}}),
        json::object({{"altup_correct_scale", false}}), json::object({{"vocab_size_per_layer_input", 41}})}) {
    json spoiled = config;
    spoiled.update(refused);
    expect_refused(spoiled, refused.begin().key());
  }
}

// YaRN's ramp goes from beta 32, 8 ln(64 / 64 pi) / (2 ln 10000) = -0.50, so 0, to beta 1, 8 ln(64 / 2 pi) / (2 ln
// 10000) = 1.008, which is rounded up to 2 where the file does not say otherwise.
TEST(HfLayerConfig, YarnRoundsItsBoundsOrNot) {
  const auto second = [](bool truncate) {
    json config = hf_config("Qwen3ForCausalLM");
    config["rope_theta"] = 10000;
    config["rope_scaling"] = {
        {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}, {"truncate", truncate}};
    const auto read = config_of(config);
    EXPECT_TRUE(read.ok()) << read.error().message;
    return read.ok() ? read->ropes.at(0).inv_freq.at(1) : 0;
  };
  EXPECT_FLOAT_EQ(second(true), 0.1f * (0.5f + 0.5f / 4));
  const float ramp = 1 / static_cast<float>(8 * std::log(64 / (2 * 3.14159265358979)) / (2 * std::log(10000.0)));
  EXPECT_FLOAT_EQ(second(false), 0.1f * (1 - ramp + ramp / 4));
}

TEST(LayerConfig, FactorsOfJaisHaveAnOlderName) {
  const json dims = {{"architectures", {"JAISLMHeadModel"}},
                     {"n_embd", 32},
                     {"n_layer", 2},
                     {"n_head", 4},
                     {"n_inner", 48},
                     {"n_positions", 4096},
                     {"layer_norm_epsilon", 1e-5}};
  json newer = dims, older = dims;
  newer.update({{"mup_embeddings_scale", 2.5},
                {"mup_output_alpha", 3.0},
                {"mup_width_scale", 0.25},
                {"mup_scale_qk_dot_by_d", true}});
  older.update({{"embeddings_scale", 2.5}, {"width_scale", 0.75}, {"scale_qk_dot_by_d", true}});
  for (const json& given : {newer, older}) {
    const auto config = config_of(given, {"transformer.wte.weight"});
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_FLOAT_EQ(config->embed_scale, 2.5f);
    EXPECT_FLOAT_EQ(config->logit_scale, 0.75f);
    EXPECT_FLOAT_EQ(attention(*config, 1).scale, 1.0f / 8);
    EXPECT_EQ(attention(*config, 1).alibi, 8.0f);
  }
  const auto plain = config_of(dims, {"transformer.wte.weight"});
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->embed_scale, 1.0f);
  EXPECT_FLOAT_EQ(attention(*plain, 1).scale, 1 / std::sqrt(8.0f));
  newer["alibi_scaling"] = {{"type", "linear"}, {"train_seq_len", 2048}};
  EXPECT_FALSE(config_of(newer, {"transformer.wte.weight"}).ok()) << "slopes that change with the length";
}

TEST(LayerConfig, FalconRwMustSayThatItHasAlibi) {
  json given = {{"architectures", {"FalconForCausalLM"}},
                {"hidden_size", 32},
                {"num_hidden_layers", 2},
                {"num_attention_heads", 4},
                {"alibi", true},
                {"parallel_attn", false},
                {"multi_query", false},
                {"bias", true},
                {"layer_norm_epsilon", 1e-5}};
  const std::vector<std::string> names = {"transformer.word_embeddings.weight",
                                          "transformer.h.0.post_attention_layernorm.weight"};
  const auto config = config_of(given, names);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_TRUE(attention(*config, 1).alibi_is_scaled);
  EXPECT_EQ(attention(*config, 1).n_kv_heads, 4u);
  for (const char* key : {"alibi", "parallel_attn"}) {
    json without = given;
    without.erase(key);
    const auto refused = config_of(without, names);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find(key), std::string::npos) << refused.error().message;
  }
}

// The first layers of OpenELM-270M: its ffns are 768, 1024 and 1280 wide.
TEST(LayerConfig, WidthsOfOpenElmAreMultiplesOfADivisor) {
  json given = {{"architectures", {"OpenELMForCausalLM"}},
                {"model_dim", 1280},
                {"head_dim", 64},
                {"num_transformer_layers", 3},
                {"num_query_heads", {12, 12, 16}},
                {"num_kv_heads", {3, 3, 4}},
                {"ffn_multipliers", {0.5, 0.73, 0.97}},
                {"ffn_dim_divisor", 256},
                {"max_context_length", 2048},
                {"rope_freq_constant", 10000}};
  const auto config = config_of(given, {"transformer.token_embeddings.weight"});
  ASSERT_TRUE(config.ok()) << config.error().message;
  const uint32_t widths[] = {768, 1024, 1280}, n_heads[] = {12, 12, 16};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<GatedConfig>(config->layers[i].ffn).d_ff, widths[i]);
    EXPECT_EQ(attention(*config, i).n_heads, n_heads[i]);
  }
  EXPECT_FLOAT_EQ(config->norm_eps, 1e-6f);
  given["ffn_multipliers"] = {0.5, 0.73};
  EXPECT_FALSE(config_of(given, {"transformer.token_embeddings.weight"}).ok());
}

}  // namespace
}  // namespace realizar
