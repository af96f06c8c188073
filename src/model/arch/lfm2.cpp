// LFM2: short convolutions between gates, and some layers with attention; also with experts after some dense layers.
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/arch/two_thirds.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kLfm2Classes[] = {"Lfm2ForCausalLM", "LFM2ForCausalLM"};
constexpr std::string_view kLfm2MoeClasses[] = {"Lfm2MoeForCausalLM"};

constexpr TensorSpec kEmbeddingNorm = norm(Role::kFinalNorm, "token_embd_norm.weight", "model.embedding_norm.weight");
constexpr TensorSpec kOperatorNorm = with_hf(kAttnNorm, "model.layers.{}.operator_norm.weight");
constexpr TensorSpec kOwnFfnNorm = with_hf(kFfnNorm, "model.layers.{}.ffn_norm.weight");
constexpr TensorSpec kOwnWo = with_hf(kWo, "model.layers.{}.self_attn.out_proj.weight");
constexpr TensorSpec kOwnQNorm = with_hf(kQNorm, "model.layers.{}.self_attn.q_layernorm.weight");
constexpr TensorSpec kOwnKNorm = with_hf(kKNorm, "model.layers.{}.self_attn.k_layernorm.weight");
constexpr TensorSpec kConvIn = whole(Role::kSsmIn, kRequired, Dim::kSsmIn, Dim::kModel,
                                     "blk.{}.shortconv.in_proj.weight", "model.layers.{}.conv.in_proj.weight");
constexpr TensorSpec kLfm2Conv = whole(Role::kSsmConv, kRequired, Dim::kSsmConv, Dim::kTaps,
                                       "blk.{}.shortconv.conv.weight", "model.layers.{}.conv.conv.weight");
constexpr TensorSpec kConvOut = whole(Role::kSsmOut, kRequired, Dim::kModel, Dim::kSsmInner,
                                      "blk.{}.shortconv.out_proj.weight", "model.layers.{}.conv.out_proj.weight");
constexpr TensorSpec kW1 = with_hf(kWGate, "model.layers.{}.feed_forward.w1.weight");
constexpr TensorSpec kW3 = with_hf(kWUp, "model.layers.{}.feed_forward.w3.weight");
constexpr TensorSpec kW2 = with_hf(kWDown, "model.layers.{}.feed_forward.w2.weight");

constexpr auto kLfm2Tensors = joined(kEmbed, kHead, kEmbeddingNorm, kOperatorNorm, kWq, kWk, kWv, kOwnWo, kOwnQNorm,
                                     kOwnKNorm, kConvIn, kLfm2Conv, kConvOut, kOwnFfnNorm, kW1, kW3, kW2);

constexpr auto kLfm2MoeTensors = joined(kEmbed, kHead, kEmbeddingNorm, kOperatorNorm, kWq, kWk, kWv, kOwnWo, kOwnQNorm,
                                        kOwnKNorm, kConvIn, kLfm2Conv, kConvOut, kOwnFfnNorm, kW1, kW3, kW2,
                                        with_hf(kRouter, "model.layers.{}.feed_forward.gate.weight"),
                                        with_hf(kChoiceBias, "model.layers.{}.feed_forward.expert_bias"),
                                        with_hf(kExpertGate, "model.layers.{}.feed_forward.experts.{}.w1.weight"),
                                        with_hf(kExpertUp, "model.layers.{}.feed_forward.experts.{}.w3.weight"),
                                        with_hf(kExpertDown, "model.layers.{}.feed_forward.experts.{}.w2.weight"));

constexpr HfFlag kLfm2HfFlags[] = {{"conv_bias", false}, {"use_expert_bias", true}};

}  // namespace

const ArchSpec kLfm2{.name = "lfm2",
                     .hf_classes = kLfm2Classes,
                     .tensors = kLfm2Tensors,
                     .recurrent = MixerKind::kShortConv,
                     .qk_norm = QkNorm::kHead,
                     .hf_rope_base = 1e6f,
                     .hf_flags = kLfm2HfFlags,
                     .hf_keys = {.norm_eps = "norm_eps", .activation = "", .layer_kinds = "layer_types"},
                     .hf_ssm_keys = {.n_taps = "conv_L_cache", .attending_layers = "full_attn_idxs"},
                     .adjust = adjust_d_ff,
                     .tell = tell_adjusted_d_ff};

const ArchSpec kLfm2Moe{.name = "lfm2moe",
                        .hf_classes = kLfm2MoeClasses,
                        .tensors = kLfm2MoeTensors,
                        .recurrent = MixerKind::kShortConv,
                        .qk_norm = QkNorm::kHead,
                        .hf_rope_base = 1e6f,
                        .moe = MoeRule::kAlways,
                        .hf_flags = kLfm2HfFlags,
                        .routing = {.score = RouteScore::kSigmoid},
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
