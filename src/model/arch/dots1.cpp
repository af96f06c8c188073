// dots.llm1: norms of each head of q and k; after some dense layers experts, some of them shared, chosen by sigmoids.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kDots1HfClasses[] = {"Dots1ForCausalLM"};
constexpr HfFlag kDots1HfFlags[] = {{"attention_bias", false}};

constexpr auto kDots1Tensors =
    joined(kEnds, kAttention, kQkNorms, kFfnNorm, kGated, kRouter, optional(kChoiceBias), kExperts, kShared);

}  // namespace

const ArchSpec kDots1{.name = "dots1",
                      .hf_classes = kDots1HfClasses,
                      .tensors = kDots1Tensors,
                      .qk_norm = QkNorm::kHead,
                      .moe = MoeRule::kAlways,
                      .hf_flags = kDots1HfFlags,
                      .routing = {.renormalize = false},
                      .hf_keys = {.n_experts = "n_routed_experts",
                                  .expert_d_ff = "moe_intermediate_size",
                                  .n_shared = "n_shared_experts",
                                  .renormalize = "norm_topk_prob",
                                  .routed_scale = "routed_scaling_factor",
                                  .n_leading_dense = "first_k_dense_replace"}};

}  // namespace realizar
