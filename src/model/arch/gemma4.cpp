// Gemma 4: Gemma 3 with wider heads in the layers that see the whole context, normalized values, a factor after each
// layer and, in the small models, a table of each layer's own and last layers that attend to what earlier ones keep; in
// 26B-A4B, experts beside each layer's ffn.
#include <array>
#include <cstddef>

#include "model/arch/gemma_layers.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemma4HfClasses[] = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"};
constexpr HfFlag kGemma4HfFlags[] = {{"enable_moe_block", false}, {"attention_bias", false}};

constexpr auto kGemma4Tensors = joined(
    kEnds, kLayerTables, kAttnNorm, kWq, kWk,
    // Absent where values are made of keys.
    optional(kWv), kWo, kQkNorms, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm, kLayerInputs,
    optional(vector(Role::kLayerScale, Dim::kNone, "blk.{}.layer_output_scale.weight", "model.layers.{}.layer_scalar")),
    kRopeFactors);

// The tensors of a model without experts but its ffn's, and those of experts.
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

// The same with experts in place of the dense ffn, which is the shared one of them.
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

// llama.cpp, LLM_ARCH_GEMMA4; transformers, Gemma4TextConfig
constexpr ArchSpec kGemma4Dense{.name = "gemma4",
                                .hf_classes = kGemma4HfClasses,
                                .tensors = kGemma4Tensors,
                                .norm_place = NormPlace::kSandwich,
                                .activation = Activation::kGelu,
                                .qk_norm = QkNorm::kHead,
                                .embed_scale_sqrt_d_model = true,
                                .has_window = true,
                                .full_interval = 6,
                                .has_window_heads = true,
                                .hf_rope_base = 1000000,
                                .window_rope_base = 10000,
                                .softcaps = Need::kOptional,
                                .hf_flags = kGemma4HfFlags,
                                .hf_keys = {.activation = "hidden_activation", .head_dim = "global_head_dim"},
                                .adjust = read_gemma_layers,
                                .tell = tell_gemma_layers};

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
