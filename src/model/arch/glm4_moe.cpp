// GLM-4.5 and 4.6: after some dense layers experts, one of them shared, chosen by sigmoids and biases; half of each
// head is rotated.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGlm4MoeHfClasses[] = {"Glm4MoeForCausalLM"};

constexpr auto kGlm4MoeTensors =
    joined(kEnds, kAttention, optional(kQkvBiases), optional(kQkNorms),
           with_gguf(kFfnNorm, "blk.{}.post_attention_norm.weight"), kGated, kRouter, kChoiceBias, kExperts, kShared);

}  // namespace

const ArchSpec kGlm4Moe{.name = "glm4moe",
                        .hf_classes = kGlm4MoeHfClasses,
                        .tensors = kGlm4MoeTensors,
                        .qk_norm = QkNorm::kHead,
                        .hf_rope_share = 0.5,
                        .moe = MoeRule::kAlways,
                        .routing = {.score = RouteScore::kSigmoid, .renormalize = false, .hf_renormalize = true},
                        .hf_keys = {.n_experts = "n_routed_experts",
                                    .expert_d_ff = "moe_intermediate_size",
                                    .n_shared = "n_shared_experts",
                                    .renormalize = "norm_topk_prob",
                                    .routed_scale = "routed_scaling_factor",
                                    .n_leading_dense = "first_k_dense_replace"}};

}  // namespace realizar
