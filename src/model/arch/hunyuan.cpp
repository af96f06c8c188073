// HunYuan, dense or with experts, one of them shared: Llama with norms of q and k after their rotation.
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHunyuanHfClasses[] = {"HunYuanDenseV1ForCausalLM"};
constexpr std::string_view kHunyuanMoeClasses[] = {"HunYuanMoEV1ForCausalLM"};
constexpr HfFlag kMoeFlags[] = {{"attention_bias", false}, {"use_cla", false}, {"use_qk_norm", true}};

constexpr TensorSpec norm_of_heads(Role role, std::string_view gguf, std::string_view hf) {
  return {role, kRequired, Shard::kWhole, Dim::kHead, Dim::kNone, gguf, hf};
}

constexpr auto kHunyuanTensors =
    joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, with_hf(kQNorm, "model.layers.{}.self_attn.query_layernorm.weight"),
           with_hf(kKNorm, "model.layers.{}.self_attn.key_layernorm.weight"), kFfnNorm, kGated);

constexpr auto kHunyuanMoeTensors =
    joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, with_hf(kQNorm, "model.layers.{}.self_attn.query_layernorm.weight"),
           with_hf(kKNorm, "model.layers.{}.self_attn.key_layernorm.weight"), kFfnNorm,
           with_hf(kRouter, "model.layers.{}.mlp.gate.wg.weight"), kExperts,
           with_hf(kSharedGate, "model.layers.{}.mlp.shared_mlp.gate_proj.weight"),
           with_hf(kSharedUp, "model.layers.{}.mlp.shared_mlp.up_proj.weight"),
           with_hf(kSharedDown, "model.layers.{}.mlp.shared_mlp.down_proj.weight"));

Status rotate_before_norms(const ConfigKeys&, ModelConfig& c) {
  change_each<AttentionConfig>(c, [](AttentionConfig& own) { own.norms_last = true; });
  return {};
}

}  // namespace

const ArchSpec kHunYuanMoe{.name = "hunyuan-moe",
                           .hf_classes = kHunyuanMoeClasses,
                           .tensors = kHunyuanMoeTensors,
                           .qk_norm = QkNorm::kHead,
                           .moe = MoeRule::kAlways,
                           .hf_flags = kMoeFlags,
                           .hf_keys = {.n_experts = "num_experts",
                                       .n_experts_used = "moe_topk",
                                       .expert_d_ff = "moe_intermediate_size",
                                       .shared_d_ff = "intermediate_size"},
                           .adjust = rotate_before_norms};

const ArchSpec kHunYuanDense{.name = "hunyuan-dense",
                             .hf_classes = kHunyuanHfClasses,
                             .tensors = kHunyuanTensors,
                             .qk_norm = QkNorm::kHead,
                             .adjust = rotate_before_norms};

}  // namespace realizar
