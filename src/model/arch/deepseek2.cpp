// DeepSeek-V2, V3 and R1, and Kimi K2: latent attention, experts after some dense layers, some of them shared.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHfClasses[] = {"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM"};
constexpr HfFlag kHfFlags[] = {{"attention_bias", false}};

// Heads are not shared by devices: all read the same latents.
constexpr auto kTensors = std::to_array<TensorSpec>({
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

}  // namespace

const ArchSpec kDeepseek2{.name = "deepseek2",
                          .hf_classes = kHfClasses,
                          .tensors = kTensors,
                          .mixer = MixerKind::kLatentAttention,
                          .moe = MoeRule::kIfConfigured,
                          .hf_flags = kHfFlags,
                          .routing = {.renormalize = false},
                          .has_leading_dense = true,
                          .hf_keys = {.n_experts = "n_routed_experts",
                                      .expert_d_ff = "moe_intermediate_size",
                                      .n_shared = "n_shared_experts",
                                      .renormalize = "norm_topk_prob",
                                      .routed_scale = "routed_scaling_factor",
                                      .n_leading_dense = "first_k_dense_replace"}};

}  // namespace realizar
