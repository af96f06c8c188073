// gpt-oss: attention with sinks and biases, every second layer with a sliding window, experts with biases and a clamped
// SwiGLU.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr TensorSpec expert_bias(Role role, Dim cols, std::string_view gguf, std::string_view hf) {
  return {role, kRequired, Shard::kWhole, Dim::kExperts, cols, gguf, hf};
}

constexpr std::string_view kGptOssHfClasses[] = {"GptOssForCausalLM"};
constexpr HfFlag kGptOssHfFlags[] = {{"attention_bias", true}};
constexpr HfNumber kGptOssHfNumbers[] = {{"swiglu_limit", 7}};

constexpr auto kGptOssTensors = joined(
    kEnds, kAttention, kQkvBiases, kBo,
    vector(Role::kSinks, Dim::kHeads, "blk.{}.attn_sinks.weight", "model.layers.{}.self_attn.sinks"),
    with_gguf(kFfnNorm, "blk.{}.post_attention_norm.weight"), with_hf(kRouter, "model.layers.{}.mlp.router.weight"),
    vector(Role::kRouterBias, Dim::kExperts, "blk.{}.ffn_gate_inp.bias", "model.layers.{}.mlp.router.bias"),
    gguf_only(kExpertGate), gguf_only(kExpertUp), fused_experts("model.layers.{}.mlp.experts.gate_up_proj"),
    with_hf(kExpertDown, "model.layers.{}.mlp.experts.down_proj"),
    expert_bias(Role::kExpertGateBias, Dim::kExpertFf, "blk.{}.ffn_gate_exps.bias", ""),
    expert_bias(Role::kExpertUpBias, Dim::kExpertFf, "blk.{}.ffn_up_exps.bias", ""),
    expert_bias(Role::kExpertGateUpBias, Dim::kExpertGateUp, "", "model.layers.{}.mlp.experts.gate_up_proj_bias"),
    expert_bias(Role::kExpertDownBias, Dim::kModel, "blk.{}.ffn_down_exps.bias",
                "model.layers.{}.mlp.experts.down_proj_bias"));

}  // namespace

const ArchSpec kGptOss{.name = "gpt-oss",
                       .hf_classes = kGptOssHfClasses,
                       .tensors = kGptOssTensors,
                       .activation = Activation::kClampedSwiglu,
                       .window_rule = WindowRule::kByInterval,
                       .full_interval = 2,
                       .moe = MoeRule::kAlways,
                       .hf_flags = kGptOssHfFlags,
                       .hf_numbers = kGptOssHfNumbers,
                       .hf_form = HfForm::kPairedExperts,
                       .hf_keys = {.activation = ""}};

}  // namespace realizar
