// Makes a tiny GGUF model with random weights for any row of the architecture table, from the row itself; tests change
// its keys and tensors before it is opened.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_file.h"
#include "model/arch/list.h"

namespace realizar::test {

struct TinyTensor {
  std::string name;
  Role role;
  std::vector<uint64_t> shape;
  std::vector<float> values;
};

struct TinyModel {
  std::map<std::string, std::variant<bool, uint32_t, float, std::string>> keys;
  std::vector<TinyTensor> tensors;
  TypeId matrix_type = TypeId::kF32;

  TinyTensor& tensor(std::string_view name) {
    return *std::find_if(tensors.begin(), tensors.end(), [&](const TinyTensor& t) { return t.name == name; });
  }

  Result<ModelFile> open() const {
    GgufWriter writer;
    for (const auto& [key, value] : keys) {
      if (const auto* flag = std::get_if<bool>(&value)) writer.add_bool(key, *flag);
      if (const auto* number = std::get_if<uint32_t>(&value)) writer.add_u32(key, *number);
      if (const auto* real = std::get_if<float>(&value)) writer.add_f32(key, *real);
      if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(key, *text);
    }
    for (const TinyTensor& t : tensors) {
      writer.add_tensor(t.name, t.shape.size() > 1 ? matrix_type : TypeId::kF32, t.shape, t.values);
    }
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name() + ".gguf";
    std::replace(name.begin(), name.end(), '/', '.');
    const auto path = std::filesystem::path(testing::TempDir()) / name;
    RZ_CHECK_OK(writer.write(path));
    auto file = ModelFile::open(path);
    std::filesystem::remove(path);  // the map keeps it
    return file;
  }
};

struct TinyDims {
  uint32_t n_layers = 2, d_model = 32, n_heads = 4, n_kv_heads = 2, head_dim = 8, d_ff = 48, n_vocab = 40, n_ctx = 64;
  uint32_t n_experts = 4, n_used = 2, expert_d_ff = 24;

  uint64_t size(Dim dim) const {
    switch (dim) {
      case Dim::kNone:
        return 1;
      case Dim::kModel:
        return d_model;
      case Dim::kQ:
        return n_heads * head_dim;
      case Dim::kKv:
        return n_kv_heads * head_dim;
      case Dim::kQkv:
        return (n_heads + 2 * n_kv_heads) * head_dim;
      case Dim::kFf:
        return d_ff;
      case Dim::kGateUp:
        return 2 * d_ff;
      case Dim::kVocab:
        return n_vocab;
      case Dim::kHead:
        return head_dim;
      case Dim::kHalfRot:
        return head_dim / 2;
      case Dim::kExperts:
        return n_experts;
      case Dim::kExpertFf:
        return expert_d_ff;
      case Dim::kCtx:
        return n_ctx;
    }
    return 0;
  }
};

inline bool is_expert_stack(Role role) {
  return role == Role::kExpertGate || role == Role::kExpertUp || role == Role::kExpertDown;
}

// Whether the tiny file has this tensor: factors of rope and fused twins of separate tensors are left out.
inline bool is_made(const TensorSpec& t, const ArchSpec& spec, bool with_experts) {
  const auto has = [&](Role role) {
    return std::any_of(spec.tensors.begin(), spec.tensors.end(), [&](const TensorSpec& s) { return s.role == role; });
  };
  switch (t.role) {
    case Role::kRouter:
    case Role::kExpertGate:
    case Role::kExpertUp:
    case Role::kExpertDown:
      return with_experts;
    case Role::kWGate:
    case Role::kWUp:
    case Role::kWDown:
      return !with_experts;
    case Role::kWqkv:
    case Role::kBqkv:
      return !has(Role::kWq);
    case Role::kRopeFactors:
    case Role::kRopeShort:
    case Role::kRopeLong:
    case Role::kIgnored:
      return false;
    default:
      return !t.gguf.empty();
  }
}

// Weights large enough that heads attend sharply: a mistake anywhere then shows in the logits.
inline std::vector<float> random_values(const TensorSpec& t, const std::vector<uint64_t>& shape, std::mt19937& random) {
  uint64_t n = 1;
  for (const uint64_t size : shape) n *= size;
  const bool is_vector = t.cols == Dim::kNone, is_norm = is_vector && t.gguf.ends_with("norm.weight");
  const bool is_table = t.role == Role::kEmbed || t.role == Role::kPositionEmbed;
  const float scale = is_vector ? 0.4f : is_table ? 1.0f : 2.5f / std::sqrt(static_cast<float>(shape.back()));
  std::vector<float> values(n);
  for (float& value : values) {
    const float unit = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;  // [-1, 1)
    value = (is_norm ? 1.0f : 0.0f) + scale * unit;
  }
  return values;
}

inline TinyModel tiny_model(const ArchSpec& spec, bool with_experts = false, const TinyDims& dims = {}) {
  TinyModel model;
  const std::string arch(spec.name);
  with_experts = with_experts || spec.moe == MoeRule::kAlways;
  model.keys = {{"general.architecture", arch},
                {arch + ".block_count", dims.n_layers},
                {arch + ".embedding_length", dims.d_model},
                {arch + ".feed_forward_length", dims.d_ff},
                {arch + ".context_length", dims.n_ctx},
                {arch + ".attention.head_count", dims.n_heads},
                {arch + ".attention.head_count_kv", dims.n_kv_heads},
                {arch + ".attention.key_length", dims.head_dim},
                {arch + ".attention.value_length", dims.head_dim}};
  model.keys[arch + (spec.norm == NormKind::kRms ? ".attention.layer_norm_rms_epsilon"
                                                 : ".attention.layer_norm_epsilon")] = 1e-3f;
  if (spec.softcaps == Need::kRequired) {
    model.keys[arch + ".attn_logit_softcapping"] = 2.0f;
    model.keys[arch + ".final_logit_softcapping"] = 3.0f;
  }
  if (with_experts) {
    model.keys[arch + ".expert_count"] = dims.n_experts;
    model.keys[arch + ".expert_used_count"] = dims.n_used;
    model.keys[arch + ".expert_feed_forward_length"] = dims.expert_d_ff;
  }
  std::mt19937 random(7);
  for (const TensorSpec& t : spec.tensors) {
    if (!is_made(t, spec, with_experts)) continue;
    const size_t at = t.gguf.find("{}");
    for (uint32_t layer = 0; layer < (at == std::string_view::npos ? 1 : dims.n_layers); ++layer) {
      std::string name(t.gguf);
      if (at != std::string_view::npos) name.replace(at, 2, std::to_string(layer));
      std::vector<uint64_t> shape{dims.size(t.rows)};
      if (t.cols != Dim::kNone) shape.push_back(dims.size(t.cols));
      if (is_expert_stack(t.role)) shape.insert(shape.begin(), dims.n_experts);
      model.tensors.push_back({name, t.role, shape, random_values(t, shape, random)});
    }
  }
  return model;
}

}  // namespace realizar::test
