// Gemma 3 in Hugging Face's format: the conformance model's weights in a folder, with every form of its config.json,
// are the same model as the GGUF file.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "model/arch/list.h"
#include "model/config_reader.h"
#include "model/fingerprint.h"
#include "support/difference.h"
#include "support/logits.h"
#include "support/made_model.h"
#include "support/safetensors_writer.h"
#include "support/test_data.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Hugging Face's name for a GGUF tensor, and its role.
std::pair<std::string, Role> hf_name(const ArchSpec& spec, std::string name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = std::find_if(name.begin(), name.end(), is_digit);
  const auto end = std::find_if_not(digits, name.end(), is_digit);
  const std::string layer(digits, end);
  name.replace(digits, end, layer.empty() ? "" : "{}");
  for (const TensorSpec& tensor : spec.tensors) {
    if (tensor.gguf != name) continue;
    std::string hf(tensor.hf);
    if (!layer.empty()) hf.replace(hf.find("{}"), 2, layer);
    return {hf, tensor.role};
  }
  ADD_FAILURE() << name << " is not of " << spec.name;
  return {};
}

// Weights of norms are those in the file plus 1.
void write_weights(const ModelFile& gguf, const fs::path& path, const std::string& prefix = "") {
  test::SafetensorsWriter weights;
  for (const TensorInfo& tensor : gguf.tensors()) {
    const auto [name, role] = hf_name(kGemma3, tensor.name);
    std::vector<float> values = *read_vector(tensor);
    if (tensor.shape.size() == 1) {
      for (float& value : values) value -= 1.0f;
    }
    const bool has_prefix_within = prefix.starts_with("model.");
    weights.add(prefix + (has_prefix_within ? name.substr(name.find('.') + 1) : name), "F32", tensor.shape,
                std::as_bytes(std::span(values)));
  }
  if (!prefix.empty()) {
    const std::vector<float> values(4);
    weights.add("multi_modal_projector.mm_input_projection_weight", "F32", {2, 2}, std::as_bytes(std::span(values)));
  }
  weights.write(path);
}

json common_config() {
  return {{"architectures", {"Gemma3ForCausalLM"}},
          {"model_type", "gemma3_text"},
          {"hidden_size", 64},
          {"intermediate_size", 72},
          {"num_hidden_layers", 7},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"head_dim", 32},
          {"max_position_embeddings", 4096},
          {"rms_norm_eps", 0.002},
          {"hidden_activation", "gelu_pytorch_tanh"},
          {"query_pre_attn_scalar", 32},
          {"attention_bias", false},
          {"attn_logit_softcapping", nullptr},
          {"final_logit_softcapping", nullptr},
          {"sliding_window", 16}};
}

json with(const json& more) {
  json config = common_config();
  config.update(more);
  return config;
}

const json kLinear = {{"factor", 8.0}, {"rope_type", "linear"}};

// transformers 4.50: an interval, and the bases side by side.
const json kFirstForm = {
    {"rope_theta", 1e6}, {"rope_local_base_freq", 1e4}, {"rope_scaling", kLinear}, {"sliding_window_pattern", 6}};
// 4.53: a list of layers.
const json kSecondForm = {
    {"rope_theta", 1e6},
    {"rope_local_base_freq", 1e4},
    {"rope_scaling", kLinear},
    {"_sliding_window_pattern", 6},
    {"layer_types",
     std::vector<std::string>{"sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
                              "sliding_attention", "full_attention", "sliding_attention"}}};
// 5.0: rotations by the kind of layer.
const json kThirdForm = {{"layer_types", kSecondForm["layer_types"]},
                         {"rope_parameters",
                          {{"full_attention", {{"factor", 8.0}, {"rope_theta", 1e6}, {"rope_type", "linear"}}},
                           {"sliding_attention", {{"rope_theta", 1e4}, {"rope_type", "default"}}}}}};
// The defaults of the class if config.json is silent.
const json kBareForm = {{"rope_scaling", kLinear}};

class HfGemma3 : public testing::Test {
 protected:
  void SetUp() override {
    auto gguf = must(test::open_conformance(test::source_file("tests/data/conformance"), "gemma3"));
    gguf_.emplace(std::move(gguf));
    write_weights(*gguf_, folder_ / "model.safetensors");
  }

  Result<ModelFile> open_with(const json& form) {
    folder_.put("config.json", with(form).dump());
    return ModelFile::open(folder_);
  }

  TempFolder folder_;
  std::optional<ModelFile> gguf_;
};

TEST_F(HfGemma3, EveryFormOfTheConfigSaysWhatGgufSays) {
  ModelConfig expected = *read_config(*gguf_);
  expected.name.clear();
  for (const json& form : {kFirstForm, kSecondForm, kThirdForm, kBareForm}) {
    const auto file = must(open_with(form));
    const auto config = must(read_config(file));
    EXPECT_EQ(hash_of(config), hash_of(expected)) << to_string(config) << to_string(expected);
  }
}

// A model that sees images has its text model's settings in an object, and its tensors' names begin with a prefix.
TEST_F(HfGemma3, OfAModelWithImagesTheTextModelIsRead) {
  json text_config = with(kSecondForm);
  text_config["architectures"] = {"Gemma3ForCausalLM"};
  const json config = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                       {"model_type", "gemma3"},
                       {"text_config", text_config},
                       {"vision_config", {{"hidden_size", 1152}, {"num_hidden_layers", 27}}}};
  for (const char* prefix : {"language_model.", "model.language_model."}) {
    write_weights(*gguf_, folder_ / "model.safetensors", prefix);
    folder_.put("config.json", config.dump());
    const auto file = must(ModelFile::open(folder_));
    EXPECT_EQ(test::reference_logits(file), test::reference_logits(*gguf_)) << prefix;
  }
}

TEST_F(HfGemma3, WhatConfigJsonDoesNotSayIsWhatTheClassHas) {
  json config = with(kBareForm);
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings",
                          "rms_norm_eps", "query_pre_attn_scalar"}) {
    config.erase(key);
  }
  folder_.put("config.json", config.dump());
  const auto file = must(ModelFile::open(folder_));
  const auto read = must(read_config(file));
  const auto& attention = std::get<AttentionConfig>(read.layers[0].mixer);
  EXPECT_EQ(attention.n_heads, 8u);
  EXPECT_EQ(attention.n_kv_heads, 4u);
  EXPECT_EQ(attention.head_dim, 256u);
  EXPECT_EQ(attention.scale, 1.0f / 16);
  EXPECT_EQ(read.n_ctx_train, 131072u);
  EXPECT_EQ(read.norm_eps, 1e-6f);
}

TEST_F(HfGemma3, HasTheLogitsOfTheGgufFile) {
  const auto file = must(open_with(kSecondForm));
  EXPECT_LE(test::difference(test::reference_logits(*gguf_), test::reference_logits(file)), 1e-4);
}

TEST_F(HfGemma3, AStretchedRotationOfItsWindowsWantsItsFactor) {
  json form = kThirdForm;
  form["rope_parameters"]["sliding_attention"]["rope_type"] = "linear";
  const auto file = must(open_with(form));
  EXPECT_TRUE(fails_with(read_config(file), ErrorCode::kFormatError, "sliding_attention.factor"));
}

}  // namespace
}  // namespace realizar
