// Arcee's Trinity: experts, one of them shared, after some dense layers; norms before and after each branch and gated
// attention. Layers with a window have rotations; every fourth layer sees the whole context and has none.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kAfmoeHfClasses[] = {"AfmoeForCausalLM"};
constexpr HfFlag kAfmoeHfFlags[] = {{"attention_bias", false}, {"mup_enabled", true}};

constexpr auto kAfmoeTensors = joined(
    kEnds, kAttention,
    by_rows(Role::kAttnGate, Dim::kQ, Dim::kModel, "blk.{}.attn_gate.weight",
            "model.layers.{}.self_attn.gate_proj.weight"),
    kQkNorms, kSandwichAttnPostNorm, with_hf(kFfnNorm, "model.layers.{}.pre_mlp_layernorm.weight"), kGated,
    with_hf(kRouter, "model.layers.{}.mlp.router.gate.weight"), with_hf(kChoiceBias, "model.layers.{}.mlp.expert_bias"),
    kExperts, kShared, with_hf(kSandwichFfnPostNorm, "model.layers.{}.post_mlp_layernorm.weight"));

}  // namespace

const ArchSpec kAfMoe{.name = "afmoe",
                      .hf_classes = kAfmoeHfClasses,
                      .tensors = kAfmoeTensors,
                      .norm_place = NormPlace::kSandwich,
                      .qk_norm = QkNorm::kHead,
                      .embed_scale = kRootOfWidth,
                      .window_rule = WindowRule::kByInterval,
                      .full_interval = 4,
                      .full_lacks_rope = true,
                      .nope_interval = 4,
                      .moe = MoeRule::kAlways,
                      .hf_flags = kAfmoeHfFlags,
                      .routing = {.score = RouteScore::kSigmoid, .renormalize = false, .hf_renormalize = true},
                      .hf_keys = {.n_experts = "num_experts",
                                  .expert_d_ff = "moe_intermediate_size",
                                  .n_shared = "num_shared_experts",
                                  .renormalize = "route_norm",
                                  .routed_scale = "route_scale",
                                  .n_leading_dense = "num_dense_layers",
                                  .score = "score_func"}};

}  // namespace realizar
