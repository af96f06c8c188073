// DeepSeek-V2, V3 and R1, and Kimi K2: latent attention, and experts, some of them shared, after some dense layers.
// Mistral Large 3 and Mistral 4 add queries that grow with their position.
#include <algorithm>
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kDeepseek2HfClasses[] = {"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM"};
constexpr HfFlag kDeepseek2HfFlags[] = {{"attention_bias", false}};

// Devices do not divide the heads, since all heads read the same latents.
constexpr auto kDeepseek2Tensors =
    joined(kEnds, kAttnNorm, kLatentWq, optional(kWqA), kWqANorm, kWqB, kWLatent, kLatentNorm, kLatentKAndV, kLatentWo,
           kFfnNorm, kGated, kRouter, optional(kChoiceBias), kExperts, kShared, kInvFreqBuffer);

constexpr ArchSpec kCommon{.name = "deepseek2",
                           .hf_classes = kDeepseek2HfClasses,
                           .tensors = kDeepseek2Tensors,
                           .mixer = MixerKind::kLatentAttention,
                           .rope_pairs = RopePairs::kBoth,
                           .temperature = {.gguf = "attention.temperature_scale"},
                           .moe = MoeRule::kIfConfigured,
                           .hf_flags = kDeepseek2HfFlags,
                           .routing = {.renormalize = false},
                           .hf_keys = {.n_experts = "n_routed_experts",
                                       .expert_d_ff = "moe_intermediate_size",
                                       .n_shared = "n_shared_experts",
                                       .renormalize = "norm_topk_prob",
                                       .routed_scale = "routed_scaling_factor",
                                       .n_leading_dense = "first_k_dense_replace"}};

// With gate and up of all experts in one stack, as in folders and some GGUF files.
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
