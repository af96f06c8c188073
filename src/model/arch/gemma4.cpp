// Gemma 4: Gemma 3 with wider heads in the layers that see the whole context, normalized values and a factor after each
// layer. The small models have per-layer embeddings and last layers that share the keys and values of earlier ones;
// 26B-A4B has experts in parallel to each layer's ffn.
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "model/arch/gemma_layers.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemma4HfClasses[] = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"};
constexpr HfFlag kGemma4HfFlags[] = {{"enable_moe_block", false}, {"attention_bias", false}};

constexpr auto kGemma4Tensors = joined(
    kEnds, kLayerTables, kAttnNorm, kWq, kWk,
    // Absent if values are the keys.
    optional(kWv), kWo, kQkNorms, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm, kLayerInputs,
    optional(vector(Role::kLayerScale, Dim::kNone, "blk.{}.layer_output_scale.weight", "model.layers.{}.layer_scalar")),
    kRopeFactors);

// The tensors of a model without experts except its ffn's, and those of experts.
template <size_t kN>
constexpr auto with_experts(const std::array<TensorSpec, kN>& experts) {
  std::array<TensorSpec, kGemma4Tensors.size() - 3 + kN> all{};
  size_t n = 0;
  for (const TensorSpec& tensor : kGemma4Tensors) {
    const bool is_ffn = tensor.role == Role::kWGate || tensor.role == Role::kWUp || tensor.role == Role::kWDown;
    if (!is_ffn) all[n++] = tensor;
  }
  for (const TensorSpec& tensor : experts) all[n++] = tensor;
  return all;
}

constexpr TensorSpec beside_experts(Role role, const TensorSpec& dense) {
  return shared_expert(role, dense.gguf, dense.hf);
}

// With experts; the dense ffn is the shared expert.
constexpr auto kGemma4MoeTensors = with_experts(joined(
    beside_experts(Role::kSharedGate, kWGate), beside_experts(Role::kSharedUp, kWUp),
    beside_experts(Role::kSharedDown, kWDown), with_hf(kRouter, "model.layers.{}.router.proj.weight"),
    norm(Role::kRouterScale, "blk.{}.ffn_gate_inp.scale", "model.layers.{}.router.scale"),
    vector(Role::kExpertScale, Dim::kExperts, "blk.{}.ffn_down_exps.scale", "model.layers.{}.router.per_expert_scale"),
    gguf_only(kExpertGate), gguf_only(kExpertUp),
    optional(with_gguf(fused_experts("model.layers.{}.experts.gate_up_proj"), "blk.{}.ffn_gate_up_exps.weight")),
    with_hf(kExpertDown, "model.layers.{}.experts.down_proj"),
    norm(Role::kExpertNorm, "blk.{}.pre_ffw_norm_2.weight", "model.layers.{}.pre_feedforward_layernorm_2.weight"),
    norm(Role::kSharedPostNorm, "blk.{}.post_ffw_norm_1.weight", "model.layers.{}.post_feedforward_layernorm_1.weight"),
    norm(Role::kExpertPostNorm, "blk.{}.post_ffw_norm_2.weight",
         "model.layers.{}.post_feedforward_layernorm_2.weight")));

constexpr std::string_view kGgufWindowDim = "attention.key_length_swa", kHfWindowDim = "head_dim",
                           kGgufWindowRot = "rope.dimension_count_swa", kHfFullDim = "global_head_dim",
                           kHfFullKvHeads = "num_global_key_value_heads";

// The KV heads of each layer. config.json has one number for layers with a window and one for the others.
Result<std::vector<uint32_t>> read_kv_heads(const ConfigKeys& keys, const ModelConfig& c) {
  RZ_TRY(const auto all,
         keys.layer_ints("attention.head_count_kv", keys.spec().hf_keys.n_kv_heads, c.n_layers, 1, kMaxHeads));
  std::vector<uint32_t> n_kv_heads;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    n_kv_heads.push_back(all ? (*all)[i] : std::get<AttentionConfig>(c.layers[i].mixer).n_kv_heads);
  }
  RZ_TRY(const auto global, keys.optional_int("", kHfFullKvHeads, 1, kMaxHeads));
  for (uint32_t i = 0; global && i < c.n_layers; ++i) {
    if (std::get<AttentionConfig>(c.layers[i].mixer).window == 0) n_kv_heads[i] = *global;
  }
  return n_kv_heads;
}

// Heads of layers with a window differ in width from the others.
Status read_window_heads(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto n_kv_heads, read_kv_heads(keys, c));
  RZ_TRY(const auto head_dim, keys.optional_int(kGgufWindowDim, kHfWindowDim, 2, kMaxHeadDim));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    auto& own = std::get<AttentionConfig>(c.layers[i].mixer);
    own.n_kv_heads = n_kv_heads[i];
    if (own.window > 0) own.head_dim = head_dim.value_or(own.head_dim);
    if (own.n_heads % own.n_kv_heads == 0 && own.head_dim % 2 == 0) continue;
    return out_of_range(keys.file(), keys.key("attention.head_count_kv", keys.spec().hf_keys.n_kv_heads),
                        fmt::format("divisors of {} heads of an even width", own.n_heads),
                        fmt::format("{} of {}", own.n_kv_heads, own.head_dim));
  }
  return {};
}

Result<uint32_t> read_window_n_rot(const ConfigKeys& keys, uint32_t n_rot) {
  RZ_TRY(const auto head_dim, keys.optional_int(kGgufWindowDim, kHfWindowDim, 2, kMaxHeadDim));
  if (!head_dim) return n_rot;
  if (keys.is_gguf()) {
    RZ_TRY(const auto given, keys.optional_int(kGgufWindowRot, "", 2, *head_dim));
    return given.value_or(*head_dim);
  }
  RZ_TRY(const auto share, keys.optional_positive("", "rope_parameters.sliding_attention.partial_rotary_factor"));
  return static_cast<uint32_t>(*head_dim * std::min(share.value_or(1), 1.0));
}

Status read_out_scales(const ConfigKeys& keys, ModelConfig& c) {
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    RZ_TRY(const auto scale, read_number(keys, Role::kLayerScale, i));
    c.layers[i].out_scale = scale.value_or(1);
  }
  return {};
}

Status adjust_gemma4(const ConfigKeys& keys, ModelConfig& c) {
  RZ_CHECK_OK(read_window_heads(keys, c));
  RZ_TRY(const uint32_t n_rot, read_window_n_rot(keys, c.ropes.back().n_rot));
  RZ_TRY(c.ropes.back(), read_window_rope(keys, n_rot, c));
  RZ_CHECK_OK(read_out_scales(keys, c));
  return read_gemma_layers(keys, c);
}

const AttentionConfig* first_where(const ModelConfig& c, bool has_window) {
  for (const LayerConfig& layer : c.layers) {
    const auto& own = std::get<AttentionConfig>(layer.mixer);
    if ((own.window > 0) == has_window) return &own;
  }
  return nullptr;
}

void tell_gemma4(const ModelConfig& c, KeyTeller& keys) {
  tell_gemma_layers(c, keys);
  if (const auto* full = first_where(c, false)) {
    keys.set("attention.key_length", kHfFullDim, uint64_t{full->head_dim});
    keys.set("attention.value_length", "", uint64_t{full->head_dim});
    keys.set("", kHfFullKvHeads, uint64_t{full->n_kv_heads});
  }
  const auto* windowed = first_where(c, true);
  if (windowed == nullptr) return;
  keys.set(kGgufWindowDim, kHfWindowDim, uint64_t{windowed->head_dim});
  keys.set("attention.value_length_swa", "", uint64_t{windowed->head_dim});
  keys.set("", "num_key_value_heads", uint64_t{windowed->n_kv_heads});
  if (c.ropes.size() > 1) keys.set(kGgufWindowRot, "", uint64_t{c.ropes.back().n_rot});
}

// llama.cpp, LLM_ARCH_GEMMA4; transformers, Gemma4TextConfig
constexpr ArchSpec kGemma4Dense{.name = "gemma4",
                                .hf_classes = kGemma4HfClasses,
                                .tensors = kGemma4Tensors,
                                .norm_place = NormPlace::kSandwich,
                                .activation = Activation::kGelu,
                                .qk_norm = QkNorm::kHead,
                                .embed_scale = kRootOfWidth,
                                .window_rule = WindowRule::kByInterval,
                                .full_interval = 6,
                                .hf_rope_base = 1000000,
                                .window_rope_base = 10000,
                                .softcaps = Need::kOptional,
                                .hf_flags = kGemma4HfFlags,
                                .hf_keys = {.activation = "hidden_activation", .head_dim = "global_head_dim"},
                                .adjust = adjust_gemma4,
                                .tell = tell_gemma4};

constexpr HfFlag kHfMoeFlags[] = {{"attention_bias", false}};

constexpr ArchSpec moe() {
  ArchSpec spec = kGemma4Dense;
  spec.tensors = kGemma4MoeTensors;
  spec.moe = MoeRule::kAlways;
  spec.hf_flags = kHfMoeFlags;
  spec.routing = {.input = ExpertInput::kOwnNorms, .is_dense_shared = true};
  spec.hf_keys.n_experts = "num_experts";
  spec.hf_keys.n_experts_used = "top_k_experts";
  spec.hf_keys.expert_d_ff = "moe_intermediate_size";
  spec.hf_keys.score = "";
  spec.marker = {"blk.0.ffn_gate_inp.weight", "model.layers.0.router.proj.weight"};
  return spec;
}

}  // namespace

const ArchSpec kGemma4 = kGemma4Dense;
const ArchSpec kGemma4Moe = moe();

}  // namespace realizar
