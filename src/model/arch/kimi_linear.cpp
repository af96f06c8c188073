// Kimi Linear: delta attention, and some layers with latent attention that rotates nothing; experts after some dense
// layers, one of them shared.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kKimiLinearHfClasses[] = {"KimiLinearForCausalLM"};
constexpr HfFlag kKimiLinearHfFlags[] = {{"mla_use_nope", true}};
constexpr HfNumber kKimiLinearHfNumbers[] = {{"moe_layer_freq", 1}};

constexpr auto kKimiLinearTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    whole(Role::kWq, kRequired, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight",
          "model.layers.{}.self_attn.q_proj.weight"),
    whole(Role::kWk, kRequired, Dim::kSsmInner, Dim::kModel, "blk.{}.attn_k.weight",
          "model.layers.{}.self_attn.k_proj.weight"),
    whole(Role::kWv, kRequired, Dim::kSsmInner, Dim::kModel, "blk.{}.attn_v.weight",
          "model.layers.{}.self_attn.v_proj.weight"),
    whole(Role::kWo, kRequired, Dim::kModel, Dim::kAttended, "blk.{}.attn_output.weight",
          "model.layers.{}.self_attn.o_proj.weight"),
    whole(Role::kConvQ, kRequired, Dim::kSsmInner, Dim::kTaps, "blk.{}.ssm_conv1d_q.weight",
          "model.layers.{}.self_attn.q_conv1d.weight"),
    whole(Role::kConvK, kRequired, Dim::kSsmInner, Dim::kTaps, "blk.{}.ssm_conv1d_k.weight",
          "model.layers.{}.self_attn.k_conv1d.weight"),
    whole(Role::kConvV, kRequired, Dim::kSsmInner, Dim::kTaps, "blk.{}.ssm_conv1d_v.weight",
          "model.layers.{}.self_attn.v_conv1d.weight"),
    whole(Role::kDecayLow, kRequired, Dim::kSsmGroup, Dim::kModel, "blk.{}.ssm_f_a.weight",
          "model.layers.{}.self_attn.f_a_proj.weight"),
    whole(Role::kDeltaDecay, kRequired, Dim::kSsmInner, Dim::kSsmGroup, "blk.{}.ssm_f_b.weight",
          "model.layers.{}.self_attn.f_b_proj.weight"),
    whole(Role::kGateLow, kRequired, Dim::kSsmGroup, Dim::kModel, "blk.{}.ssm_g_a.weight",
          "model.layers.{}.self_attn.g_a_proj.weight"),
    whole(Role::kDeltaGate, kRequired, Dim::kSsmInner, Dim::kSsmGroup, "blk.{}.ssm_g_b.weight",
          "model.layers.{}.self_attn.g_b_proj.weight"),
    whole(Role::kDeltaBeta, kRequired, Dim::kSsmHeads, Dim::kModel, "blk.{}.ssm_beta.weight",
          "model.layers.{}.self_attn.b_proj.weight"),
    whole(Role::kSsmA, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_a", "model.layers.{}.self_attn.A_log"),
    whole(Role::kSsmDtBias, kRequired, Dim::kSsmInner, Dim::kNone, "blk.{}.ssm_dt.bias",
          "model.layers.{}.self_attn.dt_bias"),
    whole(Role::kSsmNorm, kRequired, Dim::kSsmGroup, Dim::kNone, "blk.{}.ssm_norm.weight",
          "model.layers.{}.self_attn.o_norm.weight"),
    whole(Role::kWLatent, kRequired, Dim::kLatentKey, Dim::kModel, "blk.{}.attn_kv_a_mqa.weight",
          "model.layers.{}.self_attn.kv_a_proj_with_mqa.weight"),
    whole(Role::kLatentNorm, kRequired, Dim::kLatent, Dim::kNone, "blk.{}.attn_kv_a_norm.weight",
          "model.layers.{}.self_attn.kv_a_layernorm.weight"),
    whole(Role::kLatentKv, kOptional, Dim::kLatentKv, Dim::kLatent, "blk.{}.attn_kv_b.weight",
          "model.layers.{}.self_attn.kv_b_proj.weight"),
    whole(Role::kLatentK, kRequired, Dim::kLatent, Dim::kNope, "blk.{}.attn_k_b.weight", ""),
    whole(Role::kLatentV, kRequired, Dim::kValue, Dim::kLatent, "blk.{}.attn_v_b.weight", ""),
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
    whole(Role::kRouter, kRequired, Dim::kExperts, Dim::kModel, "blk.{}.ffn_gate_inp.weight",
          "model.layers.{}.block_sparse_moe.gate.weight"),
    whole(Role::kChoiceBias, kRequired, Dim::kExperts, Dim::kNone, "blk.{}.exp_probs_b.bias",
          "model.layers.{}.block_sparse_moe.gate.e_score_correction_bias"),
    matrix(Role::kExpertGate, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_gate_exps.weight",
           "model.layers.{}.block_sparse_moe.experts.{}.w1.weight"),
    matrix(Role::kExpertUp, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_up_exps.weight",
           "model.layers.{}.block_sparse_moe.experts.{}.w3.weight"),
    matrix(Role::kExpertDown, kRequired, Shard::kCols, Dim::kModel, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight",
           "model.layers.{}.block_sparse_moe.experts.{}.w2.weight"),
    shared_expert(Role::kSharedGate, "blk.{}.ffn_gate_shexp.weight",
                  "model.layers.{}.block_sparse_moe.shared_experts.gate_proj.weight"),
    shared_expert(Role::kSharedUp, "blk.{}.ffn_up_shexp.weight",
                  "model.layers.{}.block_sparse_moe.shared_experts.up_proj.weight"),
    shared_expert(Role::kSharedDown, "blk.{}.ffn_down_shexp.weight",
                  "model.layers.{}.block_sparse_moe.shared_experts.down_proj.weight"),
});

}  // namespace

const ArchSpec kKimiLinear{.name = "kimi-linear",
                           .hf_classes = kKimiLinearHfClasses,
                           .tensors = kKimiLinearTensors,
                           .mixer = MixerKind::kLatentAttention,
                           .recurrent = MixerKind::kKimiDelta,
                           .nope_interval = 1,
                           .moe = MoeRule::kAlways,
                           .hf_flags = kKimiLinearHfFlags,
                           .hf_numbers = kKimiLinearHfNumbers,
                           .routing = {.score = RouteScore::kSigmoid, .hf_renormalize = true},
                           .has_leading_dense = true,
                           .hf_keys = {.n_ctx = "model_max_length",
                                       .n_experts = "num_experts",
                                       .n_experts_used = "num_experts_per_token",
                                       .expert_d_ff = "moe_intermediate_size",
                                       .n_shared = "num_shared_experts",
                                       .renormalize = "moe_renormalize",
                                       .routed_scale = "routed_scaling_factor",
                                       .n_leading_dense = "first_k_dense_replace",
                                       .score = "moe_router_activation_func"},
                           .hf_ssm_keys = {.n_heads = "linear_attn_config.num_heads",
                                           .head_dim = "linear_attn_config.head_dim",
                                           .n_taps = "linear_attn_config.short_conv_kernel_size",
                                           .attending_layers = "linear_attn_config.full_attn_layers",
                                           .first_layer = 1}};

}  // namespace realizar
