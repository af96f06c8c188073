// Kimi Linear: delta attention, and some layers with latent attention without rotations; after some dense layers
// experts, one of them shared.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kKimiLinearHfClasses[] = {"KimiLinearForCausalLM"};
constexpr HfFlag kKimiLinearHfFlags[] = {{"mla_use_nope", true}};
constexpr HfNumber kKimiLinearHfNumbers[] = {{"moe_layer_freq", 1}};

constexpr auto kKimiLinearTensors =
    joined(kEnds, kAttnNorm, kLatentWq,
           whole(Role::kWk, kRequired, Dim::kSsmInner, Dim::kModel, "blk.{}.attn_k.weight",
                 "model.layers.{}.self_attn.k_proj.weight"),
           whole(Role::kWv, kRequired, Dim::kSsmInner, Dim::kModel, "blk.{}.attn_v.weight",
                 "model.layers.{}.self_attn.v_proj.weight"),
           kLatentWo,
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
           with_hf(kMamba2A, "model.layers.{}.self_attn.A_log"),
           vector(Role::kSsmDtBias, Dim::kSsmInner, "blk.{}.ssm_dt.bias", "model.layers.{}.self_attn.dt_bias"),
           vector(Role::kSsmNorm, Dim::kSsmGroup, "blk.{}.ssm_norm.weight", "model.layers.{}.self_attn.o_norm.weight"),
           kWLatent, kLatentNorm, kLatentKAndV, kFfnNorm, kGated, kMixtralRouter,
           with_hf(kChoiceBias, "model.layers.{}.block_sparse_moe.gate.e_score_correction_bias"), kMixtralExperts,
           with_hf(kSharedGate, "model.layers.{}.block_sparse_moe.shared_experts.gate_proj.weight"),
           with_hf(kSharedUp, "model.layers.{}.block_sparse_moe.shared_experts.up_proj.weight"),
           with_hf(kSharedDown, "model.layers.{}.block_sparse_moe.shared_experts.down_proj.weight"));

}  // namespace

const ArchSpec kKimiLinear{.name = "kimi-linear",
                           .hf_classes = kKimiLinearHfClasses,
                           .tensors = kKimiLinearTensors,
                           .mixer = MixerKind::kLatentAttention,
                           .recurrent = MixerKind::kKimiDelta,
                           .rope_pairs = RopePairs::kBoth,
                           .nope_interval = 1,
                           .moe = MoeRule::kAlways,
                           .hf_flags = kKimiLinearHfFlags,
                           .hf_numbers = kKimiLinearHfNumbers,
                           .routing = {.score = RouteScore::kSigmoid, .hf_renormalize = true},
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
