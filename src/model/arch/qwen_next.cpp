// Qwen3-Next and Qwen3.5: gated delta nets, and one layer in four with gated attention; both also with experts, one of
// them shared. Layers for multi-token prediction may follow in a file; they are not read.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kQwen3NextClasses[] = {"Qwen3NextForCausalLM"};
constexpr std::string_view kQwen35Classes[] = {"Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"};
constexpr std::string_view kQwen35MoeClasses[] = {"Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"};

constexpr TensorSpec kPostNorm = with_gguf(kFfnNorm, "blk.{}.post_attention_norm.weight");
constexpr TensorSpec kGatedWq =
    by_rows(Role::kWq, Dim::kGatedQ, Dim::kModel, "blk.{}.attn_q.weight", "model.layers.{}.self_attn.q_proj.weight");

constexpr TensorSpec kQwenNextConv = with_hf(kMamba2Conv, "model.layers.{}.linear_attn.conv1d.weight");
constexpr TensorSpec kDtBias = with_hf(kMamba2DtBias, "model.layers.{}.linear_attn.dt_bias");
constexpr TensorSpec kA = vector(Role::kSsmA, Dim::kSsmHeads, "blk.{}.ssm_a", "model.layers.{}.linear_attn.A_log");
constexpr TensorSpec kDeltaNorm =
    vector(Role::kSsmNorm, Dim::kSsmGroup, "blk.{}.ssm_norm.weight", "model.layers.{}.linear_attn.norm.weight");
constexpr TensorSpec kDeltaOut = with_hf(kMamba2Out, "model.layers.{}.linear_attn.out_proj.weight");
// The input's rows by their parts, or fused for each key head.
constexpr TensorSpec kDeltaQkv = whole(Role::kDeltaQkv, kRequired, Dim::kSsmConv, Dim::kModel, "blk.{}.attn_qkv.weight",
                                       "model.layers.{}.linear_attn.in_proj_qkv.weight");
constexpr TensorSpec kDeltaGate = whole(Role::kDeltaGate, kRequired, Dim::kSsmInner, Dim::kModel,
                                        "blk.{}.attn_gate.weight", "model.layers.{}.linear_attn.in_proj_z.weight");
constexpr TensorSpec kDeltaIn = whole(Role::kDeltaIn, kOptional, Dim::kSsmIn, Dim::kModel, "blk.{}.ssm_in.weight",
                                      "model.layers.{}.linear_attn.in_proj_qkvz.weight");
constexpr TensorSpec kDeltaBeta = whole(Role::kDeltaBeta, kRequired, Dim::kSsmHeads, Dim::kModel,
                                        "blk.{}.ssm_beta.weight", "model.layers.{}.linear_attn.in_proj_b.weight");
constexpr TensorSpec kDeltaDecay = whole(Role::kDeltaDecay, kRequired, Dim::kSsmHeads, Dim::kModel,
                                         "blk.{}.ssm_alpha.weight", "model.layers.{}.linear_attn.in_proj_a.weight");
constexpr TensorSpec kDeltaBetaDecay = whole(Role::kDeltaBetaDecay, kRequired, Dim::kTwoSsmHeads, Dim::kModel,
                                             "blk.{}.ssm_ba.weight", "model.layers.{}.linear_attn.in_proj_ba.weight");

constexpr auto kQwen3NextTensors =
    joined(kEnds, kAttnNorm, kGatedWq, kWk, kWv, kWo, kQkNorms, kDeltaIn, kDeltaQkv, kDeltaGate, kDeltaBetaDecay,
           kQwenNextConv, kDtBias, kA, kDeltaNorm, kDeltaOut, kPostNorm, kRouter, kExperts, kQwenShared);

constexpr auto kQwen35Tensors =
    joined(kEnds, kAttnNorm, kGatedWq, kWk, kWv, kWo, kQkNorms, kDeltaQkv, kDeltaGate, kDeltaBeta, kDeltaDecay,
           kQwenNextConv, kDtBias, kA, kDeltaNorm, kDeltaOut, kPostNorm, kGated);

// Folders have the experts as two stacks, and some quantized ones each apart.
constexpr TensorSpec kStackedGateUp =
    by_rows(Role::kExpertGateUp, Dim::kExpertGateUp, Dim::kModel, "", "model.layers.{}.mlp.experts.gate_up_proj");
constexpr TensorSpec kStackedDown = hf_only(kExpertDown, "model.layers.{}.mlp.experts.down_proj");

constexpr auto kQwen35MoeTensors = joined(kEnds, kAttnNorm, kGatedWq, kWk, kWv, kWo, kQkNorms, kDeltaQkv, kDeltaGate,
                                          kDeltaBeta, kDeltaDecay, kQwenNextConv, kDtBias, kA, kDeltaNorm, kDeltaOut,
                                          kPostNorm, kRouter, kExperts, kStackedGateUp, kStackedDown, kQwenShared);

constexpr HfFlag kQwenNextHfFlags[] = {{"attention_bias", false}, {"attn_output_gate", true}};
constexpr HfSsmKeys kQwenNextHfSsmKeys{.n_heads = "linear_num_value_heads",
                                       .head_dim = "linear_value_head_dim",
                                       .n_groups = "linear_num_key_heads",
                                       .d_state = "linear_key_head_dim",
                                       .n_taps = "linear_conv_kernel_dim"};
constexpr HfKeys kQwenNextHfKeys{.n_experts = "num_experts",
                                 .expert_d_ff = "moe_intermediate_size",
                                 .shared_d_ff = "shared_expert_intermediate_size",
                                 .renormalize = "norm_topk_prob",
                                 .layer_kinds = "layer_types"};
// Without dense ffns; the weights of those chosen are always divided by their sum.
constexpr HfKeys kQwen35MoeHfKeys{.d_ff = "moe_intermediate_size",
                                  .n_experts = "num_experts",
                                  .expert_d_ff = "moe_intermediate_size",
                                  .shared_d_ff = "shared_expert_intermediate_size",
                                  .layer_kinds = "layer_types"};

constexpr Default kQwenNextDefaults[] = {
    {.gguf = "full_attention_interval", .hf = "full_attention_interval", .value = 4}};

}  // namespace

const ArchSpec kQwen3Next{.name = "qwen3next",
                          .hf_classes = kQwen3NextClasses,
                          .tensors = kQwen3NextTensors,
                          .recurrent = MixerKind::kDeltaNet,
                          .qk_norm = QkNorm::kHead,
                          .hf_norm_plus_one = true,
                          .hf_rope_share = 0.25,
                          .moe = MoeRule::kAlways,
                          .defaults = kQwenNextDefaults,
                          .hf_flags = kQwenNextHfFlags,
                          .hf_left_out = "mtp.",
                          .hf_keys = kQwenNextHfKeys,
                          .hf_ssm_keys = kQwenNextHfSsmKeys};

const ArchSpec kQwen35{.name = "qwen35",
                       .hf_classes = kQwen35Classes,
                       .tensors = kQwen35Tensors,
                       .recurrent = MixerKind::kDeltaNet,
                       .gguf_key_heads_in_turn = true,
                       .qk_norm = QkNorm::kHead,
                       .hf_norm_plus_one = true,
                       .hf_rope_share = 0.25,
                       .defaults = kQwenNextDefaults,
                       .hf_flags = kQwenNextHfFlags,
                       .hf_left_out = "mtp.",
                       .hf_keys = {.layer_kinds = "layer_types"},
                       .hf_ssm_keys = kQwenNextHfSsmKeys};

const ArchSpec kQwen35Moe{.name = "qwen35moe",
                          .hf_classes = kQwen35MoeClasses,
                          .tensors = kQwen35MoeTensors,
                          .recurrent = MixerKind::kDeltaNet,
                          .gguf_key_heads_in_turn = true,
                          .qk_norm = QkNorm::kHead,
                          .hf_norm_plus_one = true,
                          .hf_rope_share = 0.25,
                          .moe = MoeRule::kAlways,
                          .defaults = kQwenNextDefaults,
                          .hf_flags = kQwenNextHfFlags,
                          .hf_left_out = "mtp.",
                          .hf_keys = kQwen35MoeHfKeys,
                          .hf_ssm_keys = kQwenNextHfSsmKeys};

}  // namespace realizar
