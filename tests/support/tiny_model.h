// Makes a tiny GGUF model with random weights for any row of the architecture table, from the row itself; tests change
// its keys and tensors before it is opened.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/temp_folder.h"
#include "base/try.h"
#include "formats/gguf_writer.h"
#include "formats/model_file.h"
#include "model/arch/list.h"

namespace realizar::test {

// The model of a file that is deleted at once: the map keeps it.
inline Result<ModelFile> opened(const GgufWriter& writer) {
  const TempFolder folder;
  RZ_CHECK_OK(writer.write(folder / "model.gguf"));
  return ModelFile::open(folder / "model.gguf");
}

struct TinyTensor {
  std::string name;
  Role role;
  std::vector<uint64_t> shape;
  std::vector<float> values;
};

using TinyValue = std::variant<bool, uint32_t, float, std::string, std::vector<int32_t>, std::vector<float>>;

struct TinyModel {
  std::map<std::string, TinyValue> keys;
  std::vector<TinyTensor> tensors;
  TypeId matrix_type = TypeId::kF32;
  TypeId large_type = TypeId::kF32;  // for weights with at least a thousand rows or columns; the others are F32

  TypeId type_of(const TinyTensor& t) const {
    if (t.shape.size() < 2) return TypeId::kF32;
    const auto [least, most] = std::minmax_element(t.shape.begin(), t.shape.end());
    const bool is_large = *most >= 1000 && *least >= 32 && t.name.ends_with(".weight");
    return is_large && matrix_type == TypeId::kF32 ? large_type : matrix_type;
  }

  TinyTensor& tensor(std::string_view name) {
    return *std::find_if(tensors.begin(), tensors.end(), [&](const TinyTensor& t) { return t.name == name; });
  }

  GgufWriter writer() const {
    GgufWriter writer;
    for (const auto& [key, value] : keys) {
      if (const auto* flag = std::get_if<bool>(&value)) writer.add_bool(key, *flag);
      if (const auto* number = std::get_if<uint32_t>(&value)) writer.add_u32(key, *number);
      if (const auto* real = std::get_if<float>(&value)) writer.add_f32(key, *real);
      if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(key, *text);
      if (const auto* list = std::get_if<std::vector<int32_t>>(&value)) writer.add_i32s(key, *list);
      if (const auto* list = std::get_if<std::vector<float>>(&value)) writer.add_f32s(key, *list);
    }
    for (const TinyTensor& t : tensors) {
      writer.add_tensor(t.name, type_of(t), t.shape, t.values);
    }
    return writer;
  }

  Result<ModelFile> open() const { return opened(writer()); }
};

struct TinyDims {
  uint32_t n_layers = 2, d_model = 32, n_heads = 4, n_kv_heads = 2, head_dim = 8, d_ff = 48, n_vocab = 40, n_ctx = 64;
  uint32_t n_experts = 4, n_used = 2, expert_d_ff = 24, shared_d_ff = 20;
  uint32_t expert_latent = 0;                 // width of the experts' input; 0: that of rows
  uint32_t n_dense = 0, expert_interval = 1;  // layers before those with experts; one in this many has them
  uint32_t q_rank = 12, latent = 16, n_rot = 4, d_value = 6;  // for latent attention, with head_dim for a query
  // For state spaces.
  uint32_t ssm_heads = 4, ssm_head_dim = 8, ssm_groups = 2, ssm_state = 6, n_taps = 4;
  uint32_t d_layer_input = 6;  // for tables of the layers' own
  uint32_t n_streams = 4, laurel_rank = 64;
  // For models with windows: the heads of layers that have one (0: as in the others, one layer in full_interval),
  // whether the others use keys as values, and how many last layers share keys and values, with ffns of twice the
  // width.
  uint32_t window_head_dim = 0, window_kv_heads = 0, full_interval = 1, n_shared_kv = 0;
  uint32_t n_dense_cols = 40;          // between a vector's last products
  uint32_t n_types = 2, n_labels = 0;  // of tokens; scores of a text, 0: none
  bool has_keys_as_values = false;
  bool has_plain_latents = false;  // latent attention makes queries directly, and keys and values by one matrix
  bool grows = false;              // layer i has i + 1 times the first one's heads and its ffn's width
  uint32_t n_turned = 0;           // pairs that a rotation turns by the file's factors; 0: without factors
  bool has_ffn_biases = false;     // for gated ffns, which files may lack
  uint32_t ssm_dt_rank = 5;
  uint32_t attend_interval = 2;  // in a model with recurrent layers, one in this many attends
  uint32_t decay_rank = 6, rate_rank = 5, v_rank = 7, gate_rank = 9;  // for RWKV's low ranks
  MixerKind ssm_kind = MixerKind::kMamba2;

  uint32_t ssm_inner() const { return ssm_heads * ssm_head_dim; }
  uint64_t short_conv_size(Dim dim) const {
    return dim == Dim::kTaps ? n_taps : dim == Dim::kSsmIn ? 3 * d_model : d_model;
  }
  uint64_t ssm_size(Dim dim) const {
    const uint32_t n_conv = ssm_inner() + 2 * ssm_groups * ssm_state;
    const bool is_mamba = ssm_kind == MixerKind::kMamba;
    const bool is_delta_net = ssm_kind == MixerKind::kDeltaNet || ssm_kind == MixerKind::kKimiDelta;
    switch (dim) {
      case Dim::kSsmIn:
        return is_mamba ? 2 * ssm_inner() : n_conv + ssm_inner() + (is_delta_net ? 0 : ssm_heads);
      case Dim::kSsmConv:
        return is_mamba ? ssm_inner() : n_conv;
      case Dim::kSsmX:
        return ssm_dt_rank + 2 * ssm_state;
      case Dim::kSsmDtRank:
        return ssm_dt_rank;
      case Dim::kSsmState:
        return ssm_state;
      case Dim::kSsmInner:
        return ssm_inner();
      case Dim::kSsmHeads:
        return ssm_heads;
      case Dim::kTwoSsmHeads:
        return 2 * ssm_heads;
      case Dim::kSsmGroups:
        return ssm_groups;
      case Dim::kSsmGroup:
        return is_delta_net ? ssm_head_dim : ssm_inner() / ssm_groups;
      default:
        return n_taps;
    }
  }
  bool has_experts(uint32_t layer) const { return layer >= n_dense && (layer + 1) % expert_interval == 0; }
  bool has_window(uint32_t layer) const { return window_head_dim > 0 && (layer + 1) % full_interval != 0; }
  TinyDims of_layer(uint32_t layer) const {
    TinyDims own = *this;
    if (has_window(layer)) own.head_dim = window_head_dim, own.n_kv_heads = window_kv_heads;
    if (layer >= n_layers - n_shared_kv) own.d_ff *= 2;
    const uint32_t factor = grows ? layer + 1 : 1;
    own.n_heads *= factor, own.n_kv_heads *= factor, own.d_ff *= factor;
    return own;
  }
  bool lacks(Role role, uint32_t layer) const {
    // RWKV's first layer has no share of its own values.
    if (role >= Role::kVShareLow && role <= Role::kVShareBias && layer == 0) return true;
    const bool is_of_kv = role == Role::kWk || role == Role::kWv || role == Role::kKNorm;
    if (is_of_kv && layer >= n_layers - n_shared_kv) return true;
    return role == Role::kWv && has_keys_as_values && !has_window(layer);
  }

  uint64_t size(Dim dim) const {
    switch (dim) {
      case Dim::kNone:
        return 1;
      case Dim::kModel:
        return d_model;
      case Dim::kQ:
        return n_heads * head_dim;
      case Dim::kGatedQ:
        return 2 * n_heads * head_dim;
      case Dim::kKv:
        return n_kv_heads * head_dim;
      case Dim::kTwoKv:
        return 2 * n_kv_heads * head_dim;
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
      case Dim::kKvHeads:
        return n_kv_heads;
      case Dim::kHalfRot:
        return head_dim / 2;
      case Dim::kExperts:
        return n_experts;
      case Dim::kExpertFf:
        return expert_d_ff;
      case Dim::kExpertGateUp:
        return 2 * expert_d_ff;
      case Dim::kExpertIn:
        return expert_latent > 0 ? expert_latent : d_model;
      case Dim::kSharedFf:
        return shared_d_ff;
      case Dim::kSharedGateUp:
        return 2 * shared_d_ff;
      case Dim::kQRank:
        return q_rank;
      case Dim::kLatent:
        return latent;
      case Dim::kLatentKey:
        return latent + n_rot;
      case Dim::kLatentKv:
        return n_heads * (head_dim - n_rot + d_value);
      case Dim::kNope:
        return head_dim - n_rot;
      case Dim::kValue:
        return d_value;
      case Dim::kAttended:
        return n_heads * d_value;
      case Dim::kHeads:
        return n_heads;
      case Dim::kSsmIn:
      case Dim::kSsmInner:
      case Dim::kSsmConv:
      case Dim::kSsmHeads:
      case Dim::kTwoSsmHeads:
      case Dim::kSsmGroups:
      case Dim::kSsmGroup:
      case Dim::kSsmX:
      case Dim::kSsmDtRank:
      case Dim::kSsmState:
      case Dim::kTaps:
        return ssm_kind == MixerKind::kShortConv ? short_conv_size(dim) : ssm_size(dim);
      case Dim::kShifts:
        return kRwkv7Mixes;
      case Dim::kDecayRank:
        return decay_rank;
      case Dim::kRateRank:
        return rate_rank;
      case Dim::kVShareRank:
        return v_rank;
      case Dim::kGateRank:
        return gate_rank;
      case Dim::kOne:
        return 1;
      case Dim::kCtx:
        return n_ctx;
      case Dim::kTypes:
        return n_types;
      case Dim::kLabels:
        return n_labels;
      case Dim::kDense:
        return n_dense_cols;
      case Dim::kLayerVocab:
        return n_vocab;
      case Dim::kStreams:
        return n_streams;
      case Dim::kOtherStreams:
        return n_streams - 1;
      case Dim::kStreamPairs:
        return n_streams * n_streams;
      case Dim::kLaurelRank:
        return laurel_rank;
      case Dim::kLayerInput:
        return d_layer_input;
      case Dim::kLayerInputs:
        return n_layers * d_layer_input;
    }
    return 0;
  }
};

// The name of a test for a row of the table: rows with the same name are distinguished by a tensor.
inline std::string test_name(const ArchSpec& spec) {
  std::string name(spec.name);
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string_view marker = spec.marker.gguf;
  const size_t end = marker.rfind('.'), dot = end == std::string_view::npos ? end : marker.rfind('.', end - 1);
  return dot == std::string_view::npos ? name : name + "_" + std::string(marker.substr(dot + 1, end - dot - 1));
}

inline bool is_expert_stack(Role role) {
  return role >= Role::kExpertGate && role <= Role::kExpertDown;
}
inline bool is_head_stack(Role role) {
  return role == Role::kLatentK || role == Role::kLatentV;
}
inline bool is_stream_stack(Role role) {
  return role == Role::kAltUpProj || role == Role::kAltUpUnembed;
}

// Whether the tiny file has this tensor: factors of rope and fused forms of separate tensors are omitted.
inline bool is_made(const TensorSpec& t, const ArchSpec& spec, bool with_experts, const TinyDims& dims) {
  const auto has = [&](Role role) {
    return std::any_of(spec.tensors.begin(), spec.tensors.end(), [&](const TensorSpec& s) { return s.role == role; });
  };
  const auto has_gguf = [&](Role role) {
    return std::ranges::any_of(spec.tensors, [&](const TensorSpec& s) { return s.role == role && !s.gguf.empty(); });
  };
  // If a role has several names, the file has the first.
  const auto first =
      std::ranges::find_if(spec.tensors, [&](const TensorSpec& s) { return s.role == t.role && !s.gguf.empty(); });
  if (first != spec.tensors.end() && first->gguf != t.gguf) return false;
  switch (t.role) {
    case Role::kRouter:
    case Role::kRouterBias:
    case Role::kChoiceBias:
    case Role::kExpertDown:
    case Role::kExpertGateBias:
    case Role::kExpertUpBias:
    case Role::kExpertDownBias:
    case Role::kExpertNorm:
    case Role::kExpertPostNorm:
    case Role::kSharedPostNorm:
    case Role::kRouterScale:
    case Role::kExpertScale:
    case Role::kSharedRouter:
    case Role::kSharedGate:
    case Role::kSharedUp:
    case Role::kSharedDown:
      return with_experts;
    case Role::kExpertLatentDown:
    case Role::kExpertLatentUp:
      return with_experts && dims.expert_latent > 0;
    case Role::kExpertGateUp:
      return with_experts && !t.gguf.empty();
    case Role::kExpertGate:
    case Role::kExpertUp:
      return with_experts && !has_gguf(Role::kExpertGateUp);
    case Role::kWGate:
    case Role::kWUp:
    case Role::kWDown:
      return !with_experts;
    case Role::kDeltaQkv:
    case Role::kDeltaGate:
      return !has(Role::kDeltaIn);
    case Role::kWqkv:
    case Role::kBqkv:
      return !has(Role::kWq);
    case Role::kBGate:
    case Role::kBUp:
    case Role::kBDown:
      return !with_experts && (t.need == Need::kRequired || !has(Role::kBGate) || dims.has_ffn_biases);
    case Role::kWq:
      return !has(Role::kWqA) || dims.has_plain_latents;
    case Role::kWqA:
    case Role::kWqB:
    case Role::kLatentK:
    case Role::kLatentV:
      return !dims.has_plain_latents;
    case Role::kRopeFactors:
      return dims.n_turned > 0;
    case Role::kWGateUp:
      return !has(Role::kWGate) && !t.gguf.empty();
    case Role::kPooler:
    case Role::kPoolerBias:
    case Role::kScore:
    case Role::kScoreBias:
      return dims.n_labels > 0 && !t.gguf.empty();
    case Role::kLatentKv:
      return !has(Role::kLatentK) || dims.has_plain_latents;
    case Role::kRopeShort:
    case Role::kRopeLong:
    case Role::kIgnored:
      return false;
    default:
      return !t.gguf.empty();
  }
}

// Whether each layer either mixes or has an ffn.
inline bool has_one_branch(const ArchSpec& spec) {
  return spec.name.starts_with(kNemotronH.name);
}
// Whether each layer has two mixers.
inline bool has_two_mixers(const ArchSpec& spec) {
  return spec.name == kFalconH1.name;
}

// The mixer of layer `layer`: in a model with recurrent layers every `attend_interval`-th attends.
inline MixerKind mixer_of(const ArchSpec& spec, uint32_t layer, uint32_t attend_interval = 2) {
  if (has_one_branch(spec) && layer % 3 == 1) return MixerKind::kNone;
  return spec.recurrent && (layer + 1) % attend_interval != 0 ? *spec.recurrent : spec.mixer;
}

// Whether a layer with this mixer has tensors of this role.
inline bool is_of_mixer(Role role, MixerKind kind) {
  const bool is_of_attention =
      (role >= Role::kWq && role <= Role::kKNorm) || (role >= Role::kSinks && role <= Role::kLatentV);
  const bool is_recurrent = role >= Role::kSsmIn && role <= Role::kFfnShift;
  if (kind == MixerKind::kNone) return !is_of_attention && !is_recurrent;
  const bool has_projections = kind == MixerKind::kKimiDelta || kind == MixerKind::kRwkv7;
  if (has_projections) return !is_of_attention || (role >= Role::kWq && role <= Role::kWo);
  if (kind == MixerKind::kLatentAttention) return !is_recurrent && role != Role::kWk && role != Role::kWv;
  return kind == MixerKind::kAttention ? !is_recurrent : !is_of_attention;
}

inline bool is_of_ffn(Role role) {
  return role >= Role::kWGate && role <= Role::kSharedDown;
}

// Weights large enough that heads attend sharply: any mistake then shows in the logits.
inline std::vector<float> random_values(const TensorSpec& t, const std::vector<uint64_t>& shape, std::mt19937& random) {
  uint64_t n = 1;
  for (const uint64_t size : shape) n *= size;
  const bool is_vector = t.cols == Dim::kNone;
  const bool is_norm = is_vector && t.gguf.find("norm") != std::string_view::npos && t.gguf.ends_with(".weight");
  const bool is_table = t.role == Role::kEmbed || t.role == Role::kPositionEmbed || t.role == Role::kTypeEmbed;
  const float scale = is_vector ? 0.4f : is_table ? 1.0f : 2.5f / std::sqrt(static_cast<float>(shape.back()));
  std::vector<float> values(n);
  for (float& value : values) {
    const float unit = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;  // [-1, 1)
    value = (is_norm ? 1.0f : 0.0f) + scale * unit;
    if (t.role == Role::kLayerScale || t.role == Role::kExpertScale) value = 1.0f + 0.3f * unit;
    if (t.role == Role::kAltUpRouter) value *= static_cast<float>(shape.back());  // it is divided by the model's width
    if (t.role == Role::kRouterScale) value = 5.0f + unit;   // it is divided by the root of the model's width
    if (t.role == Role::kSsmA) value = -0.7f + 0.5f * unit;  // states decay
  }
  return values;
}

// For models with several streams, which peers run with twenty layers or more: as in trained models a layer adds a
// small share, and heads attend to several positions; otherwise small differences would grow from layer to layer.
inline float share_of_streams(Role role) {
  switch (role) {
    case Role::kQNorm:
      return 0.25f;
    case Role::kAltUpPredict:
    case Role::kAltUpCorrect:
      return 0.1f;
    case Role::kAttnPostNorm:
    case Role::kFfnPostNorm:
    case Role::kInputNorm:
    case Role::kLaurelNorm:
      return 0.2f;
    default:
      return 1.0f;
  }
}

// The keys of a model of this kind besides its sizes.
inline void add_mixer_keys(TinyModel& model, const std::string& arch, MixerKind kind, const TinyDims& dims) {
  auto& keys = model.keys;
  switch (kind) {
    case MixerKind::kLatentAttention:
      keys[arch + ".attention.value_length"] = dims.d_value;
      if (!dims.has_plain_latents) keys[arch + ".attention.q_lora_rank"] = dims.q_rank;
      keys[arch + ".attention.kv_lora_rank"] = dims.latent;
      keys[arch + ".rope.dimension_count"] = dims.n_rot;
      break;
    case MixerKind::kKimiDelta:
      keys[arch + ".kda.head_dim"] = dims.head_dim;
      keys[arch + ".ssm.conv_kernel"] = dims.n_taps;
      break;
    case MixerKind::kRwkv7:
      keys[arch + ".wkv.head_size"] = dims.ssm_head_dim;
      keys[arch + ".attention.decay_lora_rank"] = dims.decay_rank;
      keys[arch + ".attention.iclr_lora_rank"] = dims.rate_rank;
      keys[arch + ".attention.value_residual_mix_lora_rank"] = dims.v_rank;
      keys[arch + ".attention.gate_lora_rank"] = dims.gate_rank;
      break;
    case MixerKind::kShortConv:
      keys[arch + ".shortconv.l_cache"] = dims.n_taps;
      break;
    case MixerKind::kMamba:
      keys[arch + ".ssm.inner_size"] = dims.ssm_inner();
      keys[arch + ".ssm.time_step_rank"] = dims.ssm_dt_rank;
      keys[arch + ".ssm.state_size"] = dims.ssm_state;
      keys[arch + ".ssm.conv_kernel"] = dims.n_taps;
      break;
    case MixerKind::kDeltaNet:
    case MixerKind::kMamba2:
      keys[arch + ".ssm.inner_size"] = dims.ssm_inner();
      keys[arch + ".ssm.time_step_rank"] = dims.ssm_heads;
      keys[arch + ".ssm.group_count"] = dims.ssm_groups;
      keys[arch + ".ssm.state_size"] = dims.ssm_state;
      keys[arch + ".ssm.conv_kernel"] = dims.n_taps;
      break;
    case MixerKind::kAttention:
    case MixerKind::kNone:
      break;
  }
}

// The keys that say which layers are mixers, and which are ffns.
inline void add_branch_keys(TinyModel& model, const std::string& arch, const ArchSpec& spec, const TinyDims& dims) {
  std::vector<int32_t> n_kv_heads, widths;
  for (uint32_t layer = 0; layer < dims.n_layers; ++layer) {
    const MixerKind kind = mixer_of(spec, layer);
    n_kv_heads.push_back(kind == spec.mixer ? static_cast<int32_t>(dims.n_kv_heads) : 0);
    widths.push_back(kind == MixerKind::kNone ? static_cast<int32_t>(dims.d_ff) : 0);
  }
  model.keys[arch + ".attention.head_count_kv"] = n_kv_heads;
  model.keys[arch + ".feed_forward_length"] = widths;
}

inline TinyModel tiny_model(const ArchSpec& spec, bool with_experts = false, const TinyDims& wanted = {},
                            uint32_t seed = 7) {
  TinyModel model;
  TinyDims dims = wanted;
  if (spec.recurrent) dims.ssm_kind = *spec.recurrent;
  if (spec.routing.is_dense_shared) dims.shared_d_ff = dims.d_ff;
  if (spec.routing.is_shared_of_model_width) dims.shared_d_ff = dims.d_model;
  if (spec.mixer == MixerKind::kMamba) dims.ssm_kind = spec.mixer;
  if (has_one_branch(spec)) dims.n_layers = std::max(dims.n_layers, 4u);  // one each, and one more recurrent one
  // Heads of both kinds of layers are equal.
  if (spec.recurrent == MixerKind::kKimiDelta) {
    dims.ssm_heads = dims.n_heads;
    dims.ssm_head_dim = dims.d_value = dims.head_dim;
  }
  const std::string arch(spec.name);
  with_experts = with_experts || spec.moe == MoeRule::kAlways;
  model.keys = {{"general.architecture", arch},
                {arch + ".block_count", dims.n_layers},
                {arch + ".embedding_length", dims.d_model},
                {arch + ".feed_forward_length", spec.name == "qwen" ? 2 * dims.d_ff : dims.d_ff},
                {arch + ".context_length", dims.n_ctx},
                {arch + ".attention.head_count", dims.n_heads},
                {arch + ".attention.head_count_kv", dims.n_kv_heads},
                {arch + ".attention.key_length", dims.head_dim},
                {arch + ".attention.value_length", dims.head_dim}};
  model.keys[arch + (spec.norm == NormKind::kRms ? ".attention.layer_norm_rms_epsilon"
                                                 : ".attention.layer_norm_epsilon")] = 1e-3f;
  add_mixer_keys(model, arch, spec.mixer, dims);
  if (spec.recurrent) {
    add_mixer_keys(model, arch, *spec.recurrent, dims);
    model.keys[arch + ".full_attention_interval"] = dims.attend_interval;
  }
  if (has_two_mixers(spec)) add_mixer_keys(model, arch, MixerKind::kMamba2, dims);
  if (has_one_branch(spec)) add_branch_keys(model, arch, spec, dims);
  if (std::ranges::any_of(spec.tensors, [](const TensorSpec& t) { return t.role == Role::kLayerTable; })) {
    model.keys[arch + ".embedding_length_per_layer_input"] = dims.d_layer_input;
  }
  if (std::ranges::any_of(spec.tensors, [](const TensorSpec& t) { return t.role == Role::kTypeEmbed; })) {
    model.keys["tokenizer.ggml.token_type_count"] = dims.n_types;
  }
  const bool has_streams = std::ranges::find(spec.tensors, Role::kAltUpRouter, &TensorSpec::role) != spec.tensors.end();
  if (has_streams) {
    model.keys[arch + ".activation_sparsity_scale"] = std::vector<float>(dims.n_layers, 0.5f);
  }
  if (has_streams) model.keys[arch + ".altup.num_inputs"] = dims.n_streams;
  if (spec.activation == Activation::kXielu) {
    model.keys["xielu.alpha_p"] = 0.8f;
    model.keys["xielu.alpha_n"] = -0.4f;
    model.keys["xielu.beta"] = 0.5f;
    model.keys["xielu.eps"] = -1e-6f;
  }
  if (spec.needs_alibi()) model.keys[arch + ".attention.max_alibi_bias"] = 8.0f;
  if (spec.softcaps == Need::kRequired) {
    model.keys[arch + ".attn_logit_softcapping"] = 2.0f;
    model.keys[arch + ".final_logit_softcapping"] = 3.0f;
  }
  if (with_experts) {
    model.keys[arch + ".expert_count"] = dims.n_experts;
    model.keys[arch + ".expert_used_count"] = dims.n_used;
    model.keys[arch + ".expert_feed_forward_length"] = dims.expert_d_ff;
    const auto is_shared = [](const TensorSpec& t) { return t.role == Role::kSharedUp; };
    if (std::ranges::any_of(spec.tensors, is_shared)) {
      model.keys[arch + ".expert_shared_feed_forward_length"] = dims.shared_d_ff;
    }
  }
  if (with_experts && dims.expert_latent > 0) model.keys[arch + ".moe_latent_size"] = dims.expert_latent;
  if (with_experts && dims.n_dense > 0) model.keys[arch + ".leading_dense_block_count"] = dims.n_dense;
  if (with_experts && spec.has_expert_interval()) {
    model.keys[arch + ".interleave_moe_layer_step"] = dims.expert_interval;
  }
  std::mt19937 random(seed);
  for (const TensorSpec& t : spec.tensors) {
    const size_t at = t.gguf.find("{}");
    for (uint32_t layer = 0; layer < (at == std::string_view::npos ? 1 : dims.n_layers); ++layer) {
      const bool is_of_layer = at != std::string_view::npos && !has_two_mixers(spec);
      if (is_of_layer && !is_of_mixer(t.role, mixer_of(spec, layer, dims.attend_interval))) continue;
      if (has_one_branch(spec) && is_of_ffn(t.role) && mixer_of(spec, layer) != MixerKind::kNone) continue;
      if (!is_made(t, spec, with_experts && dims.has_experts(layer), dims)) continue;
      std::string name(t.gguf);
      if (at != std::string_view::npos) name.replace(at, 2, std::to_string(layer));
      if (dims.lacks(t.role, layer)) continue;
      const TinyDims own = at == std::string_view::npos ? dims : dims.of_layer(layer);
      std::vector<uint64_t> shape{own.size(t.rows)};
      if (t.cols != Dim::kNone) shape.push_back(own.size(t.cols));
      if (is_expert_stack(t.role)) shape.insert(shape.begin(), dims.n_experts);
      if (is_head_stack(t.role)) shape.insert(shape.begin(), dims.n_heads);
      if (is_stream_stack(t.role)) shape.insert(shape.begin(), dims.n_streams - 1);
      std::vector<float> values = random_values(t, shape, random);
      for (float& value : values) value *= has_streams ? share_of_streams(t.role) : 1.0f;
      for (uint32_t i = 0; t.role == Role::kRopeFactors && i < values.size(); ++i) {
        values[i] = i < dims.n_turned ? 1.0f : 1e30f;
      }
      model.tensors.push_back({name, t.role, shape, std::move(values)});
    }
  }
  return model;
}

}  // namespace realizar::test
