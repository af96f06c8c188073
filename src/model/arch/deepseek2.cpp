// DeepSeek-V2, V3 and R1, and Kimi K2: latent attention, experts after some dense layers, some of them shared. Mistral
// Large 3 and Mistral 4 are of this kind, with queries that grow with their position.
#include <algorithm>
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kDeepseek2HfClasses[] = {"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM"};
constexpr HfFlag kDeepseek2HfFlags[] = {{"attention_bias", false}};

// Heads are not shared by devices: all read the same latents.
constexpr auto kDeepseek2Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    whole(Role::kWq, kRequired, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight",
          "model.layers.{}.self_attn.q_proj.weight"),
    whole(Role::kWqA, kOptional, Dim::kQRank, Dim::kModel, "blk.{}.attn_q_a.weight",
          "model.layers.{}.self_attn.q_a_proj.weight"),
    whole(Role::kQNorm, kRequired, Dim::kQRank, Dim::kNone, "blk.{}.attn_q_a_norm.weight",
          "model.layers.{}.self_attn.q_a_layernorm.weight"),
    whole(Role::kWqB, kRequired, Dim::kQ, Dim::kQRank, "blk.{}.attn_q_b.weight",
          "model.layers.{}.self_attn.q_b_proj.weight"),
    whole(Role::kWLatent, kRequired, Dim::kLatentKey, Dim::kModel, "blk.{}.attn_kv_a_mqa.weight",
          "model.layers.{}.self_attn.kv_a_proj_with_mqa.weight"),
    whole(Role::kLatentNorm, kRequired, Dim::kLatent, Dim::kNone, "blk.{}.attn_kv_a_norm.weight",
          "model.layers.{}.self_attn.kv_a_layernorm.weight"),
    whole(Role::kLatentKv, kOptional, Dim::kLatentKv, Dim::kLatent, "blk.{}.attn_kv_b.weight",
          "model.layers.{}.self_attn.kv_b_proj.weight"),
    whole(Role::kLatentK, kRequired, Dim::kLatent, Dim::kNope, "blk.{}.attn_k_b.weight", ""),
    whole(Role::kLatentV, kRequired, Dim::kValue, Dim::kLatent, "blk.{}.attn_v_b.weight", ""),
    whole(Role::kWo, kRequired, Dim::kModel, Dim::kAttended, "blk.{}.attn_output.weight",
          "model.layers.{}.self_attn.o_proj.weight"),
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
    kRouter,
    choice_bias(kOptional, kHfChoiceBias),
    kExpertGate,
    kExpertUp,
    kExpertDown,
    kSharedGate,
    kSharedUp,
    kSharedDown,
    kInvFreqBuffer,
});

constexpr ArchSpec kCommon{.name = "deepseek2",
                           .hf_classes = kDeepseek2HfClasses,
                           .tensors = kDeepseek2Tensors,
                           .mixer = MixerKind::kLatentAttention,
                           .temperature = {.gguf = "attention.temperature_scale"},
                           .moe = MoeRule::kIfConfigured,
                           .hf_flags = kDeepseek2HfFlags,
                           .routing = {.renormalize = false},
                           .has_leading_dense = true,
                           .hf_keys = {.n_experts = "n_routed_experts",
                                       .expert_d_ff = "moe_intermediate_size",
                                       .n_shared = "n_shared_experts",
                                       .renormalize = "norm_topk_prob",
                                       .routed_scale = "routed_scaling_factor",
                                       .n_leading_dense = "first_k_dense_replace"}};

// The same with gate and up of all experts in one stack, which folders and some GGUF files have.
constexpr auto kMistral4Tensors = [] {
  std::array<TensorSpec, kDeepseek2Tensors.size() + 1> all{};
  std::ranges::copy(kDeepseek2Tensors, all.begin());
  for (TensorSpec& tensor : all) {
    if (tensor.role == Role::kExpertGate || tensor.role == Role::kExpertUp) tensor.hf = "";
    if (tensor.role == Role::kExpertDown) tensor.hf = "model.layers.{}.mlp.experts.down_proj";
  }
  all.back() =
      optional(with_gguf(fused_experts("model.layers.{}.mlp.experts.gate_up_proj"), "blk.{}.ffn_gate_up_exps.weight"));
  return all;
}();

constexpr std::string_view kMistral4Classes[] = {"Mistral3ForConditionalGeneration", "Mistral4ForCausalLM"};

constexpr ArchSpec mistral4() {
  ArchSpec spec = kCommon;
  spec.name = "mistral4";
  spec.hf_classes = kMistral4Classes;
  spec.tensors = kMistral4Tensors;
  spec.temperature.hf = "rope_parameters.llama_4_scaling_beta";
  spec.routing.hf_renormalize = true;
  spec.marker = {"", "model.layers.0.self_attn.kv_a_proj_with_mqa.weight"};
  return spec;
}

}  // namespace

const ArchSpec kDeepseek2 = kCommon;
const ArchSpec kMistral4 = mistral4();

}  // namespace realizar
