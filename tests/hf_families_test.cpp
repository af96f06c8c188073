// Families in Hugging Face's format: the weights of each conformance model in a folder, with the names, the order of
// rows and the config.json of transformers, compute the same as the GGUF file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/result_checks.h"
#include "model/arch/list.h"
#include "model/config_reader.h"
#include "quant/blocks.h"
#include "quant/half.h"
#include "support/difference.h"
#include "support/hf_families.h"
#include "support/hf_folder.h"
#include "support/logits.h"
#include "support/made_model.h"
#include "support/npy.h"
#include "support/safetensors_writer.h"
#include "support/test_data.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Family = test::HfFamilyCase;

Result<ModelFile> conformance_model(std::string_view name) {
  return test::open_conformance(test::source_file("tests/data/conformance"), std::string(name));
}

json config_of(std::string_view name) {
  return json::parse(std::ranges::find(test::hf_families(), name, &Family::name)->config);
}

class HfFamily : public testing::TestWithParam<Family> {};

TEST_P(HfFamily, HasTheLogitsOfTheGgufFile) {
  const auto gguf = must(conformance_model(GetParam().name));
  const test::HfFolder folder;
  folder.write(gguf, GetParam().config, test::HfFolderForm::kF32, GetParam().prefix, GetParam().has_stacks);
  EXPECT_LE(test::difference(test::reference_logits(gguf), folder.logits()), GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Families, HfFamily, testing::ValuesIn(test::hf_families().begin(), test::hf_families().end()),
                         [](const auto& test) {
                           std::string name = std::string(test.param.name) + "_" + test::hf_class_of(test.param.config);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Baichuan 2's folders have the same weights except for the head, whose rows are divided by their lengths: the logits
// change accordingly.
TEST(HfBaichuan2, RowsOfTheHeadAreDividedByTheirLengths) {
  for (const char* name : {"baichuan", "baichuan-13b"}) {
    const auto gguf = must(conformance_model(name));
    const TensorInfo& head = *gguf.find("output.weight");
    const std::vector<float> rows = *read_vector(head);
    std::vector<float> expected = test::reference_logits(gguf);
    const size_t n_vocab = head.shape[0], n_cols = head.shape[1];
    for (size_t i = 0; i < expected.size(); ++i) {
      double squares = 0;
      for (size_t col = 0; col < n_cols; ++col) squares += std::pow(rows[i % n_vocab * n_cols + col], 2);
      expected[i] = static_cast<float>(expected[i] / std::sqrt(squares));
    }
    json config = config_of(name);
    config["architectures"] = {"BaichuanForCausalLM"};
    config["vocab_size"] = 125696;
    const test::HfFolder folder;
    folder.write(gguf, config.dump());
    EXPECT_LE(test::difference(expected, folder.logits()), 1e-4);
  }
}

TEST(HfChatGlm, TheBaseOfTheRotationIsMultipliedOrPositionsAreDivided) {
  const auto gguf = must(conformance_model("chatglm"));
  const auto config_with = [&](const json& settings) {
    json config = json::parse(std::ranges::find_if(test::hf_families(), [](const Family& family) {
                                return test::hf_class_of(family.config) == "ChatGLMModel";
                              })->config);
    config.update(settings);
    const test::HfFolder folder;
    folder.write(gguf, config.dump());
    const auto file = must(ModelFile::open(folder));
    return read_config(file);
  };
  const auto stretched = must(config_with({{"rope_ratio", 5}}));
  EXPECT_FLOAT_EQ(stretched.ropes[0].inv_freq[1], 1 / std::sqrt(50000.0f));
  const auto divided = must(config_with({{"rope_ratio", 5}, {"_name_or_path", "THUDM/chatglm2-6b-32k"}}));
  EXPECT_FLOAT_EQ(divided.ropes[0].inv_freq[0], 1 / 5.0f);
  EXPECT_FLOAT_EQ(divided.ropes[0].inv_freq[1], 1 / (5.0f * std::sqrt(10000.0f)));
  EXPECT_TRUE(config_with({{"_name_or_path", "THUDM/chatglm2-6b"}}).ok());
  EXPECT_FALSE(config_with({{"position_encoding_2d", true}}).ok()) << "the first ChatGLM";
}

// With the settings and the logits of tests/peers/phimoe_oracle.py: the family's GGUF files are computed differently.
TEST(HfPhiMoe, FoldersHaveTheLogitsOfTheirOwnFormulas) {
  const auto gguf = must(conformance_model("phimoe"));
  const test::HfFolder folder;
  folder.write(gguf, R"({"architectures": ["PhiMoEForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                          "max_position_embeddings": 64, "rms_norm_eps": 0.001, "hidden_act": "silu",
                          "rope_theta": 10000.0, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1],
                          "long_factor": [1.0, 1.5, 2.0, 4.0], "short_mscale": 1.1, "long_mscale": 1.25,
                          "original_max_position_embeddings": 32}, "sliding_window": 20, "num_local_experts": 6,
                          "num_experts_per_tok": 2, "router_jitter_noise": 0.3, "input_jitter_noise": 0.1,
                          "attention_bias": true, "lm_head_bias": true, "tie_word_embeddings": false})");
  const fs::path data = test::source_file("tests/data/conformance");
  std::ifstream tokens(data / "phimoe.tokens.json");
  const std::vector<int> ids = json::parse(tokens);
  const std::vector<float> expected = test::read_npy(data / "phimoe-folder.logits.npy");
  const auto file = must(ModelFile::open(folder));
  auto driver = must(test::StepDriver::open(file, make_reference_backend(), 64));
  const auto logits = must(driver->run(ids, 40, 16));
  EXPECT_LE(test::difference(expected, std::span(logits).last(expected.size())), 1e-5);
}

// Jina's names for RoBERTa's tensors.
std::string in_jinas_names(std::string name) {
  for (const auto& [roberta, jina] :
       {std::pair("encoder.layer.", "encoder.layers."), std::pair("embeddings.LayerNorm", "emb_ln"),
        std::pair("attention.output.dense", "mixer.out_proj"), std::pair("attention.output.LayerNorm", "norm1"),
        std::pair("intermediate.dense", "mlp.fc1"), std::pair("output.dense", "mlp.fc2"),
        std::pair("output.LayerNorm", "norm2")}) {
    const size_t at = name.find(roberta);
    if (at != std::string::npos) name.replace(at, std::strlen(roberta), jina);
  }
  return name;
}

// A tensor's parts: in a matrix, or a vector, the rows of q, k and v in turn.
class FusedQkv {
 public:
  // Whether it accepts the tensor; adds the whole when it has all parts.
  bool take(const std::string& name, const std::vector<uint64_t>& shape, const std::vector<float>& values,
            test::SafetensorsWriter& weights) {
    constexpr std::string_view kParts[] = {"query", "key", "value"}, kSelf = "attention.self.";
    const size_t at = name.find(kSelf);
    if (at == std::string::npos) return false;
    const std::string end = name.substr(name.find('.', at + kSelf.size()));
    const std::string whole = in_jinas_names(name.substr(0, at)) + "mixer.Wqkv" + end;
    for (size_t i = 0; i < std::size(kParts); ++i) {
      if (name.substr(at + kSelf.size()).starts_with(kParts[i])) parts_[whole][i] = values;
    }
    if (parts_[whole].size() < std::size(kParts)) return true;
    std::vector<float> all;
    for (const auto& [i, part] : parts_[whole]) all.insert(all.end(), part.begin(), part.end());
    std::vector<uint64_t> fused_shape = shape;
    fused_shape[0] *= std::size(kParts);
    weights.add(whole, "F32", fused_shape, std::as_bytes(std::span(all)));
    return true;
  }

 private:
  std::map<std::string, std::map<size_t, std::vector<float>>> parts_;
};

enum class CrossEncoder { kBert, kRoberta, kJinas };

// A cross-encoder's folder: BERT's; or RoBERTa's, whose first position is the third row of the table, and whose head
// has other names; or Jina's RoBERTa.
void write_cross_encoder(const ModelFile& gguf, const fs::path& path, CrossEncoder kind) {
  const bool is_roberta = kind != CrossEncoder::kBert;
  test::SafetensorsWriter weights;
  FusedQkv qkv;
  for (const TensorInfo& tensor : gguf.tensors()) {
    std::string pattern(tensor.name), layer;
    if (const size_t at = pattern.find('.'); pattern.starts_with("blk.")) {
      layer = pattern.substr(at + 1, 1);
      pattern.replace(at + 1, 1, "{}");
    }
    const auto& specs = kBert.tensors;
    const auto spec = std::ranges::find(specs, pattern, &TensorSpec::gguf);
    ASSERT_NE(spec, specs.end()) << pattern;
    std::string name(spec->hf);
    if (!layer.empty()) name.replace(name.find("{}"), 2, layer);
    std::vector<uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
    std::vector<float> values = *read_vector(tensor);
    if (is_roberta) {
      for (const auto& [bert, roberta] :
           {std::pair("bert.pooler.dense", "classifier.dense"),
            std::pair("classifier.weight", "classifier.out_proj.weight"),
            std::pair("classifier.bias", "classifier.out_proj.bias"), std::pair("bert.", "roberta.")}) {
        if (!name.starts_with(bert)) continue;
        name.replace(0, std::strlen(bert), roberta);
        break;
      }
    }
    if (is_roberta && spec->role == Role::kPositionEmbed) {
      values.insert(values.begin(), 2 * shape[1], 100.0f);
      shape[0] += 2;
    }
    if (kind == CrossEncoder::kJinas) {
      if (qkv.take(name, shape, values, weights)) continue;
      name = in_jinas_names(name);
    }
    weights.add(name, "F32", shape, std::as_bytes(std::span(values)));
  }
  weights.write(path / "model.safetensors");
  json config = config_of("bert");
  config["architectures"] = {is_roberta ? "XLMRobertaForSequenceClassification" : "BertForSequenceClassification"};
  if (is_roberta) config["max_position_embeddings"] = 66;
  std::ofstream(path / "config.json") << config;
}

TEST(HfEncoders, CrossEncodersHaveTheScoresOfTheGgufFile) {
  const auto gguf = must(conformance_model("bert-rank"));
  for (const CrossEncoder kind : {CrossEncoder::kBert, CrossEncoder::kRoberta, CrossEncoder::kJinas}) {
    const test::HfFolder folder;
    write_cross_encoder(gguf, folder, kind);
    EXPECT_LE(test::difference(test::reference_logits(gguf), folder.logits()), 1e-4);
  }
}

// Jina's first rerankers: a pooler and the scores of its output. GGUF has no pooler, so these are computed here from
// the states.
TEST(HfEncoders, JinasRerankersScoreWhatTheirPoolerGives) {
  const auto gguf = must(conformance_model("jina-bert-v2"));
  constexpr size_t kWidth = 32;
  std::mt19937 random(3);
  const auto some = [&random](size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f) * 0.4f;
    return values;
  };
  const auto pooler = some(kWidth * kWidth), pooler_bias = some(kWidth), score = some(kWidth), score_bias = some(1);
  const test::HfFolder folder;
  folder.write(gguf, config_of("jina-bert-v2").dump());
  const std::vector<float> states = folder.logits();
  ASSERT_EQ(states.size(), 48 * kWidth);
  folder.add("bert.pooler.dense.weight", {kWidth, kWidth}, pooler);
  folder.add("bert.pooler.dense.bias", {kWidth}, pooler_bias);
  folder.add("classifier.weight", {1, kWidth}, score);
  folder.add("classifier.bias", {1}, score_bias);
  std::vector<float> expected;
  for (size_t row = 0; row < 48; ++row) {
    double sum = score_bias[0];
    for (size_t i = 0; i < kWidth; ++i) {
      double pooled = pooler_bias[i];
      for (size_t j = 0; j < kWidth; ++j) pooled += double{pooler[i * kWidth + j]} * states[row * kWidth + j];
      sum += score[i] * std::tanh(pooled);
    }
    expected.push_back(static_cast<float>(sum));
  }
  EXPECT_LE(test::difference(expected, folder.logits()), 1e-4);
}

// Files of GGUF's newer converters.
TEST(GgufEncoders, JinasGateAndUpMayBeOneMatrix) {
  test::TinyModel model = test::tiny_model(kJinaBertV2);
  const auto apart = must(model.open());
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    const std::vector<float> up = model.tensor(layer + "ffn_up.weight").values;
    test::TinyTensor& fused = model.tensor(layer + "ffn_gate.weight");
    fused.values.insert(fused.values.end(), up.begin(), up.end());
    fused.shape[0] *= 2;
    std::erase_if(model.tensors,
                  [&](const test::TinyTensor& tensor) { return tensor.name == layer + "ffn_up.weight"; });
    model.tensor(layer + "ffn_gate.weight").name = layer + "ffn_up.weight";
  }
  const auto together = must(model.open());
  EXPECT_EQ(test::reference_logits(together), test::reference_logits(apart));
}

// A row normalized by its mean and its deviation.
std::vector<float> normed(std::span<const float> row, float eps) {
  double mean = 0, variance = 0;
  for (const float x : row) mean += x / static_cast<double>(row.size());
  for (const float x : row) variance += (x - mean) * (x - mean) / static_cast<double>(row.size());
  std::vector<float> result;
  for (const float x : row) result.push_back(static_cast<float>((x - mean) / std::sqrt(variance + eps)));
  return result;
}

// The sum of Nomic's experts has a bias, which belongs to no expert; GGUF lacks it. Here the last layer's experts give
// nothing else, and its norms are plain: its output is then the norm of the experts' input, which is normalized
// already, and with a bias the norm of their sum.
TEST(HfEncoders, WhatNomicsExpertsGiveHasABias) {
  constexpr size_t kWidth = 32;
  constexpr float kEps = 1e-3f;
  test::TinyModel model =
      test::tiny_model(kNomicBertMoe, false, {.n_kv_heads = 4, .expert_d_ff = 48, .expert_interval = 2});
  std::ranges::fill(model.tensor("blk.1.ffn_down_exps.weight").values, 0.0f);
  for (const std::string norm : {"blk.1.attn_output_norm", "blk.1.layer_output_norm"}) {
    std::ranges::fill(model.tensor(norm + ".weight").values, 1.0f);
    std::ranges::fill(model.tensor(norm + ".bias").values, 0.0f);
  }
  const auto gguf = must(model.open());
  const test::HfFolder folder;
  folder.write(gguf, config_of("nomic-bert-moe").dump());
  const std::vector<float> plain = folder.logits();
  ASSERT_EQ(plain.size(), 48 * kWidth);
  std::vector<float> bias(kWidth), expected;
  for (size_t i = 0; i < kWidth; ++i) bias[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
  folder.add("encoder.layers.1.mlp.experts.bias", {kWidth}, bias);
  for (size_t row = 0; row < 48; ++row) {
    std::vector<float> sum(kWidth);
    for (size_t i = 0; i < kWidth; ++i) sum[i] = plain[row * kWidth + i] * std::sqrt(1 + kEps) + bias[i];
    const std::vector<float> own = normed(sum, kEps);
    expected.insert(expected.end(), own.begin(), own.end());
  }
  EXPECT_LE(test::difference(expected, folder.logits()), 1e-3);
}

// A folder of sentence-transformers contains the kind of pooling.
TEST(HfEncoders, PoolingIsAsSentenceTransformersSay) {
  const auto gguf = must(conformance_model("bert"));
  const test::HfFolder folder;
  folder.write(gguf, config_of("bert").dump());
  const auto pooling = [&folder](const char* text) {
    fs::create_directories(folder / "1_Pooling");
    std::ofstream(folder / "1_Pooling" / "config.json") << text;
    const auto file = must(ModelFile::open(folder));
    const auto config = read_config(file);
    return config.ok() ? config->pooling : Pooling::kNone;
  };
  EXPECT_EQ(pooling("{}"), Pooling::kMean);
  EXPECT_EQ(pooling(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})"), Pooling::kFirst);
  EXPECT_EQ(pooling(R"({"pooling_mode_mean_tokens": true})"), Pooling::kMean);
  EXPECT_EQ(pooling(R"({"pooling_mode_lasttoken": true})"), Pooling::kLast);
  EXPECT_EQ(pooling(R"({"pooling_mode_max_tokens": true})"), Pooling::kNone) << "which is refused";
  EXPECT_EQ(pooling(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"), Pooling::kNone);
}

// A quantized folder has the logits of its values in F32. A product of other types adds in a different order.
void expect_same(std::string_view name, const json& settings, test::HfFolderForm packed, test::HfFolderForm plain) {
  const auto gguf = must(conformance_model(name));
  const test::HfFolder quantized, in_f32;
  json config = config_of(name);
  in_f32.write(gguf, config.dump(), plain);
  config.update(settings);
  quantized.write(gguf, config.dump(), packed);
  EXPECT_LE(test::difference(in_f32.logits(), quantized.logits()), 1e-6);
}

TEST(HfQuantizedFamily, ExpertsOfGptOssAreMxfp4InTwoTensors) {
  expect_same("gpt-oss", {{"quantization_config", {{"quant_method", "mxfp4"}}}}, test::HfFolderForm::kMxfp4,
              test::HfFolderForm::kMxfp4InF32);
}

TEST(HfQuantizedFamily, KeysAndValuesOfDeepseeksLatentsAreF8WithScales) {
  expect_same("deepseek2-mla", {{"quantization_config", {{"quant_method", "fp8"}}}}, test::HfFolderForm::kF8,
              test::HfFolderForm::kF8InF32);
}

}  // namespace
}  // namespace realizar
