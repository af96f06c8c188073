// Variants in files of models with recurrent layers: which layers are recurrent, the order of a delta net's inputs, and
// layers that are not read.
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/logits.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

using test::TinyModel;
using test::TinyTensor;

constexpr uint32_t kHeads = 4, kKeyHeads = 2, kDim = 8, kKeyDim = 6, kWidth = 32;  // of the tiny model
constexpr uint32_t kOwnValues = kHeads / kKeyHeads * kDim, kFused = 2 * (kKeyDim + kOwnValues);

// The logits of a text with tokens up to 52.
std::vector<float> logits_of(const TinyModel& model) {
  const auto file = model.open();
  EXPECT_TRUE(file.ok()) << file.error().message;
  return file.ok() ? test::reference_logits(*file) : std::vector<float>();
}

// Rows [first, first + n) of each key head's rows.
void append_rows(const TinyTensor& fused, uint32_t first, uint32_t n, TinyTensor& to) {
  for (uint32_t head = 0; head < kKeyHeads; ++head) {
    const auto from = fused.values.begin() + static_cast<ptrdiff_t>((head * kFused + first) * kWidth);
    to.values.insert(to.values.end(), from, from + static_cast<ptrdiff_t>(n * kWidth));
    to.shape[0] += n;
  }
}

TEST(RecurrentLayers, TheInputsOfADeltaNetMayBeFusedByKeyHead) {
  TinyModel model = test::tiny_model(kQwen3Next, false, {.n_vocab = 64});
  const auto expected = logits_of(model);
  const TinyTensor fused = model.tensor("blk.0.ssm_in.weight");
  ASSERT_EQ(fused.shape, (std::vector<uint64_t>{kKeyHeads * kFused, kWidth}));
  TinyTensor qkv{"blk.0.attn_qkv.weight", Role::kDeltaQkv, {0, kWidth}, {}};
  TinyTensor gate{"blk.0.attn_gate.weight", Role::kDeltaGate, {0, kWidth}, {}};
  append_rows(fused, 0, kKeyDim, qkv);
  append_rows(fused, kKeyDim, kKeyDim, qkv);
  append_rows(fused, 2 * kKeyDim, kOwnValues, qkv);
  append_rows(fused, 2 * kKeyDim + kOwnValues, kOwnValues, gate);
  std::erase_if(model.tensors, [&](const TinyTensor& tensor) { return tensor.name == fused.name; });
  model.tensors.push_back(qkv);
  model.tensors.push_back(gate);
  EXPECT_EQ(logits_of(model), expected);
}

TEST(RecurrentLayers, LayersThatDraftAreNotRead) {
  TinyModel model = test::tiny_model(kQwen35, false, {.n_vocab = 64});
  const auto expected = logits_of(model);
  model.keys["qwen35.block_count"] = 3u;
  model.keys["qwen35.nextn_predict_layers"] = 1u;
  model.tensors.push_back({"blk.2.nextn.eh_proj.weight", Role::kIgnored, {2, 3}, {1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(logits_of(model), expected);
}

// Lists in a file with such layers have an entry for each of them too.
TEST(RecurrentLayers, ListsMayTellOfLayersThatDraft) {
  TinyModel model = test::tiny_model(kNemotronHMoe, true, {.n_vocab = 64, .expert_latent = 12});
  const auto expected = logits_of(model);
  model.keys["nemotron_h_moe.block_count"] = 5u;
  model.keys["nemotron_h_moe.nextn_predict_layers"] = 1u;
  for (const auto& [key, entry] : {std::pair{"attention.head_count_kv", 2}, {"feed_forward_length", 48}}) {
    std::get<std::vector<int32_t>>(model.keys[std::string("nemotron_h_moe.") + key]).push_back(entry);
  }
  model.tensors.push_back({"blk.4.nextn.eh_proj.weight", Role::kIgnored, {2, 3}, {1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(logits_of(model), expected);
}

std::vector<size_t> kinds_of(const Result<ModelConfig>& config) {
  EXPECT_TRUE(config.ok()) << config.error().message;
  std::vector<size_t> kinds;
  if (!config.ok()) return kinds;
  for (const LayerConfig& layer : config->layers) kinds.push_back(layer.mixer.index());
  return kinds;
}

// With a list instead of the interval.
template <class List>
Result<ModelConfig> config_with(const TinyModel& model, const std::string& key, const List& list) {
  TinyModel without = model;
  std::erase_if(without.keys,
                [&](const auto& own) { return own.first == key || own.first.ends_with("full_attention_interval"); });
  GgufWriter writer = without.writer();
  if constexpr (std::is_same_v<List, std::vector<bool>>) {
    writer.add_bools(key, list);
  } else {
    writer.add_i32s(key, list);
  }
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("recurrent_layers." + std::to_string(::getpid()) + ".gguf");
  RZ_CHECK_OK(writer.write(path));
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  std::filesystem::remove(path);
  return read_config(file);
}

TEST(RecurrentLayers, AreThoseOfTheIntervalOrOfAList) {
  const TinyModel delta_net = test::tiny_model(kQwen35, false, {.n_layers = 4});
  const TinyModel short_conv = test::tiny_model(kLfm2, false, {.n_layers = 4});
  const auto attends = MixerConfig(AttentionConfig{}).index(), learns = MixerConfig(DeltaNetConfig{}).index(),
             convolves = MixerConfig(ShortConvConfig{}).index();
  const auto file = delta_net.open();
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(kinds_of(read_config(*file)), (std::vector<size_t>{learns, attends, learns, attends}));
  const std::string list = "qwen35.attention.recurrent_layers", heads = "lfm2.attention.head_count_kv";
  EXPECT_EQ(kinds_of(config_with(delta_net, list, std::vector<bool>{false, true, true, false})),
            (std::vector<size_t>{attends, learns, learns, attends}));
  EXPECT_EQ(kinds_of(config_with(short_conv, heads, std::vector<int32_t>{0, 0, 2, 0})),
            (std::vector<size_t>{convolves, convolves, attends, convolves}));
  const auto refused = config_with(delta_net, list, std::vector<bool>{false, true});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("attention.recurrent_layers: expected 4 entries, actual 2"), std::string::npos)
      << refused.error().message;
}

TEST(RecurrentLayers, MixersBesideEachOtherAreOneLayerOfTheFile) {
  const auto file = test::tiny_model(kFalconH1, false, {.n_layers = 3}).open();
  ASSERT_TRUE(file.ok());
  const auto config = read_config(*file);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->layers.size(), 6);
  EXPECT_EQ(n_file_layers(*config), 3);
}

TEST(RecurrentLayers, SizesThatDoNotFitAreRefusedByKey) {
  for (const auto& [key, value] :
       {std::pair{"ssm.group_count", 3u}, {"ssm.inner_size", 30u}, {"ssm.conv_kernel", 1u}, {"ssm.state_size", 0u}}) {
    TinyModel model = test::tiny_model(kQwen35);
    model.keys[std::string("qwen35.") + key] = value;
    const auto file = model.open();
    ASSERT_TRUE(file.ok());
    const auto config = read_config(*file);
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_EQ(config.error().code, ErrorCode::kFormatError) << key;
  }
}

TEST(RecurrentLayers, SizesOfRwkvThatDoNotFitAreRefusedByKey) {
  for (const auto& [key, value] : {std::pair{"wkv.head_size", 5u},
                                   {"wkv.head_size", 0u},
                                   {"attention.decay_lora_rank", 0u},
                                   {"attention.gate_lora_rank", 0u},
                                   {"token_shift_count", 1u}}) {
    TinyModel model = test::tiny_model(kRwkv7);
    model.keys[std::string("rwkv7.") + key] = value;
    const auto file = model.open();
    ASSERT_TRUE(file.ok());
    const auto config = read_config(*file);
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_NE(config.error().message.find(std::string("rwkv7.") + key), std::string::npos) << config.error().message;
  }
}

// llama.cpp's files have the tensors for shares of values in the first layer too, where nothing reads them.
TEST(RecurrentLayers, WhatMakesSharesOfValuesInTheFirstLayerIsNotRead) {
  TinyModel model = test::tiny_model(kRwkv7, false, {.n_vocab = 64});
  const auto expected = logits_of(model);
  model.tensors.push_back({"blk.0.time_mix_v1.weight", Role::kIgnored, {2, kWidth}, std::vector<float>(2 * kWidth, 1)});
  EXPECT_EQ(logits_of(model), expected);
}

}  // namespace
}  // namespace realizar
