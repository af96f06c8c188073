// LFM2: short convolutions between gates, and some layers with attention; also with experts after some dense layers.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kLfm2Classes[] = {"Lfm2ForCausalLM", "LFM2ForCausalLM"};
constexpr std::string_view kLfm2MoeClasses[] = {"Lfm2MoeForCausalLM"};

constexpr TensorSpec kEmbeddingNorm =
    norm(Role::kFinalNorm, kRequired, "token_embd_norm.weight", "model.embedding_norm.weight");
constexpr TensorSpec kOperatorNorm =
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "model.layers.{}.operator_norm.weight");
constexpr TensorSpec kOwnFfnNorm =
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "model.layers.{}.ffn_norm.weight");
constexpr TensorSpec kOwnWo = matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ,
                                     "blk.{}.attn_output.weight", "model.layers.{}.self_attn.out_proj.weight");
constexpr TensorSpec kOwnQNorm = whole(Role::kQNorm, kRequired, Dim::kHead, Dim::kNone, "blk.{}.attn_q_norm.weight",
                                       "model.layers.{}.self_attn.q_layernorm.weight");
constexpr TensorSpec kOwnKNorm = whole(Role::kKNorm, kRequired, Dim::kHead, Dim::kNone, "blk.{}.attn_k_norm.weight",
                                       "model.layers.{}.self_attn.k_layernorm.weight");
constexpr TensorSpec kConvIn = whole(Role::kSsmIn, kRequired, Dim::kSsmIn, Dim::kModel,
                                     "blk.{}.shortconv.in_proj.weight", "model.layers.{}.conv.in_proj.weight");
constexpr TensorSpec kLfm2Conv = whole(Role::kSsmConv, kRequired, Dim::kSsmConv, Dim::kTaps,
                                       "blk.{}.shortconv.conv.weight", "model.layers.{}.conv.conv.weight");
constexpr TensorSpec kConvOut = whole(Role::kSsmOut, kRequired, Dim::kModel, Dim::kSsmInner,
                                      "blk.{}.shortconv.out_proj.weight", "model.layers.{}.conv.out_proj.weight");
constexpr TensorSpec kW1 = matrix(Role::kWGate, kRequired, Shard::kRows, Dim::kFf, Dim::kModel,
                                  "blk.{}.ffn_gate.weight", "model.layers.{}.feed_forward.w1.weight");
constexpr TensorSpec kW3 = matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
                                  "model.layers.{}.feed_forward.w3.weight");
constexpr TensorSpec kW2 = matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf,
                                  "blk.{}.ffn_down.weight", "model.layers.{}.feed_forward.w2.weight");

constexpr auto kLfm2Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kEmbeddingNorm,
    kOperatorNorm,
    kWq,
    kWk,
    kWv,
    kOwnWo,
    kOwnQNorm,
    kOwnKNorm,
    kConvIn,
    kLfm2Conv,
    kConvOut,
    kOwnFfnNorm,
    kW1,
    kW3,
    kW2,
});

constexpr auto kLfm2MoeTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kEmbeddingNorm,
    kOperatorNorm,
    kWq,
    kWk,
    kWv,
    kOwnWo,
    kOwnQNorm,
    kOwnKNorm,
    kConvIn,
    kLfm2Conv,
    kConvOut,
    kOwnFfnNorm,
    kW1,
    kW3,
    kW2,
    whole(Role::kRouter, kRequired, Dim::kExperts, Dim::kModel, "blk.{}.ffn_gate_inp.weight",
          "model.layers.{}.feed_forward.gate.weight"),
    whole(Role::kChoiceBias, kRequired, Dim::kExperts, Dim::kNone, "blk.{}.exp_probs_b.bias",
          "model.layers.{}.feed_forward.expert_bias"),
    matrix(Role::kExpertGate, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_gate_exps.weight",
           "model.layers.{}.feed_forward.experts.{}.w1.weight"),
    matrix(Role::kExpertUp, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_up_exps.weight",
           "model.layers.{}.feed_forward.experts.{}.w3.weight"),
    matrix(Role::kExpertDown, kRequired, Shard::kCols, Dim::kModel, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight",
           "model.layers.{}.feed_forward.experts.{}.w2.weight"),
});

constexpr HfFlag kLfm2HfFlags[] = {{"conv_bias", false}, {"use_expert_bias", true}};

}  // namespace

const ArchSpec kLfm2{.name = "lfm2",
                     .hf_classes = kLfm2Classes,
                     .tensors = kLfm2Tensors,
                     .recurrent = MixerKind::kShortConv,
                     .qk_norm = QkNorm::kHead,
                     .hf_rope_base = 1e6f,
                     .hf_adjusts_d_ff = true,
                     .hf_flags = kLfm2HfFlags,
                     .hf_keys = {.norm_eps = "norm_eps", .activation = "", .layer_kinds = "layer_types"},
                     .hf_ssm_keys = {.n_taps = "conv_L_cache", .attending_layers = "full_attn_idxs"}};

const ArchSpec kLfm2Moe{.name = "lfm2moe",
                        .hf_classes = kLfm2MoeClasses,
                        .tensors = kLfm2MoeTensors,
                        .recurrent = MixerKind::kShortConv,
                        .qk_norm = QkNorm::kHead,
                        .hf_rope_base = 1e6f,
                        .moe = MoeRule::kAlways,
                        .hf_flags = kLfm2HfFlags,
                        .routing = {.score = RouteScore::kSigmoid},
                        .has_leading_dense = true,
                        .hf_keys = {.norm_eps = "norm_eps",
                                    .activation = "",
                                    .n_experts = "num_experts",
                                    .expert_d_ff = "moe_intermediate_size",
                                    .renormalize = "norm_topk_prob",
                                    .routed_scale = "routed_scaling_factor",
                                    .n_leading_dense = "num_dense_layers",
                                    .layer_kinds = "layer_types"},
                        .hf_ssm_keys = {.n_taps = "conv_L_cache", .attending_layers = "full_attn_idxs"}};

}  // namespace realizar
