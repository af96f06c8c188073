// BitNet's folders: packed codes, for both layers in transformers, and unrounded weights give the logits of the ternary
// weights in F32.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "quant/half.h"
#include "support/difference.h"
#include "support/logits.h"
#include "support/safetensors_writer.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

enum class Form { kPlain, kAutoBitLinear, kBitLinear, kOnline };

constexpr uint64_t kModel = 256, kFf = 96, kVocab = 64;  // rows that fit TQ2_0 and rows that do not
constexpr float kFactor = 0.125f;

json config_of(Form form) {
  json config = {{"architectures", {"BitNetForCausalLM"}},
                 {"hidden_size", kModel},
                 {"intermediate_size", kFf},
                 {"num_hidden_layers", 1},
                 {"num_attention_heads", 8},
                 {"num_key_value_heads", 8},
                 {"max_position_embeddings", 64},
                 {"rms_norm_eps", 1e-5},
                 {"hidden_act", "relu2"},
                 {"rope_theta", 500000.0},
                 {"tie_word_embeddings", true}};
  if (form == Form::kPlain) return config;
  config["quantization_config"] = {{"quant_method", "bitnet"},
                                   {"linear_class", form == Form::kBitLinear ? "bitlinear" : "autobitlinear"},
                                   {"quantization_mode", form == Form::kOnline ? "online" : "offline"}};
  return config;
}

class Writer {
 public:
  explicit Writer(Form form) : form_(form) {}

  void add_floats(const std::string& name, const std::vector<uint64_t>& shape, float middle) {
    uint64_t n = 1;
    for (const uint64_t dim : shape) n *= dim;
    std::vector<float> values(n);
    for (float& value : values) value = middle + static_cast<float>(random_() % 64) / 64.0f;
    weights_.add(name, "F32", shape, std::as_bytes(std::span(values)));
  }

  void add_ternary(const std::string& name, uint64_t n_rows, uint64_t n_cols) {
    std::vector<int> codes(n_rows * n_cols);
    for (int& code : codes) code = static_cast<int>(random_() % 3);
    switch (form_) {
      case Form::kPlain:
        return add_plain(name, n_rows, n_cols, codes);
      case Form::kOnline:
        return add_unrounded(name, n_rows, n_cols, codes);
      default:
        return add_packed(name, n_rows, n_cols, codes);
    }
  }

  void write(const fs::path& path) const { weights_.write(path); }

 private:
  void add_plain(const std::string& name, uint64_t n_rows, uint64_t n_cols, const std::vector<int>& codes) {
    std::vector<float> values(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) values[i] = static_cast<float>(codes[i] - 1) * kFactor;
    weights_.add(name + ".weight", "F32", {n_rows, n_cols}, std::as_bytes(std::span(values)));
  }

  void add_packed(const std::string& name, uint64_t n_rows, uint64_t n_cols, const std::vector<int>& codes) {
    std::vector<uint8_t> packed(codes.size() / 4);
    for (size_t i = 0; i < codes.size(); ++i) {
      packed[i % packed.size()] |= static_cast<uint8_t>(codes[i] << 2 * (i / packed.size()));
    }
    const uint16_t scale = float_to_bf16(form_ == Form::kBitLinear ? 1 / kFactor : kFactor);
    weights_.add(name + ".weight", "U8", {n_rows / 4, n_cols}, std::as_bytes(std::span(packed)));
    weights_.add(name + ".weight_scale", "BF16", {1}, std::as_bytes(std::span(&scale, 1)));
  }

  // Magnitudes whose mean is the factor: those of zeros and of all others differ from their rounded values.
  void add_unrounded(const std::string& name, uint64_t n_rows, uint64_t n_cols, const std::vector<int>& codes) {
    const auto n_zeros = static_cast<double>(std::ranges::count(codes, 1)), n = static_cast<double>(codes.size());
    const double of_zeros = kFactor / 4, of_others = (kFactor * n - of_zeros * n_zeros) / (n - n_zeros);
    std::vector<float> values(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      values[i] = static_cast<float>(codes[i] == 1 ? (i % 2 == 0 ? of_zeros : -of_zeros) : (codes[i] - 1) * of_others);
    }
    weights_.add(name + ".weight", "F32", {n_rows, n_cols}, std::as_bytes(std::span(values)));
  }

  const Form form_;
  std::mt19937 random_{3};
  test::SafetensorsWriter weights_;
};

class Folder : public TempFolder {
 public:
  Result<ModelFile> open(Form form) const {
    Writer writer(form);
    writer.add_floats("model.embed_tokens.weight", {kVocab, kModel}, -0.5f);
    writer.add_floats("model.norm.weight", {kModel}, 0.5f);
    const std::string layer = "model.layers.0.";
    writer.add_floats(layer + "input_layernorm.weight", {kModel}, 0.5f);
    writer.add_floats(layer + "post_attention_layernorm.weight", {kModel}, 0.5f);
    writer.add_floats(layer + "self_attn.attn_sub_norm.weight", {kModel}, 0.5f);
    writer.add_floats(layer + "mlp.ffn_sub_norm.weight", {kFf}, 0.5f);
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      writer.add_ternary(layer + "self_attn." + name, kModel, kModel);
    }
    writer.add_ternary(layer + "mlp.gate_proj", kFf, kModel);
    writer.add_ternary(layer + "mlp.up_proj", kFf, kModel);
    writer.add_ternary(layer + "mlp.down_proj", kModel, kFf);
    writer.write(*this / "model.safetensors");
    put("config.json", config_of(form).dump());
    return ModelFile::open(*this);
  }
};

TEST(HfBitNet, EveryFormOfTheWeightsHasTheSameLogits) {
  const Folder folder;
  const auto expected = test::reference_logits(must(folder.open(Form::kPlain)));
  for (const Form form : {Form::kAutoBitLinear, Form::kBitLinear, Form::kOnline}) {
    EXPECT_LE(test::difference(expected, test::reference_logits(must(folder.open(form)))), 1e-4)
        << static_cast<int>(form);
  }
}

TEST(HfBitNet, PackedWeightsStayTernary) {
  const Folder folder;
  const auto file = must(folder.open(Form::kAutoBitLinear));
  EXPECT_EQ(file.find("model.layers.0.mlp.up_proj.weight")->type, TypeId::kTQ2_0);
  EXPECT_EQ(file.find("model.layers.0.mlp.down_proj.weight")->type, TypeId::kF16);  // 96 columns
}

TEST(HfBitNet, AnotherLayerIsRefusedByName) {
  const Folder folder;
  ASSERT_TRUE(folder.open(Form::kAutoBitLinear).ok());
  json config = config_of(Form::kAutoBitLinear);
  config["quantization_config"]["linear_class"] = "otherlinear";
  folder.put("config.json", config.dump());
  EXPECT_TRUE(fails_with(ModelFile::open(folder), ErrorCode::kUnsupported, "otherlinear"));
}

}  // namespace
}  // namespace realizar
