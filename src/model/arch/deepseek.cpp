// DeepSeek's first model with experts: Llama's attention, and experts, some of them shared, after some dense layers.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kDeepseekHfClasses[] = {"DeepseekForCausalLM"};
constexpr HfFlag kDeepseekHfFlags[] = {{"attention_bias", false}};

constexpr auto kDeepseekTensors =
    joined(kEnds, kAttention, kFfnNorm, kGated, kRouter, kExperts, kShared, kRopeFactors, kInvFreqBuffer);

}  // namespace

const ArchSpec kDeepseek{.name = "deepseek",
                         .hf_classes = kDeepseekHfClasses,
                         .tensors = kDeepseekTensors,
                         .rope_pairs = RopePairs::kGguf,
                         .moe = MoeRule::kAlways,
                         .hf_flags = kDeepseekHfFlags,
                         .routing = {.renormalize = false},
                         .hf_keys = {.n_experts = "n_routed_experts",
                                     .expert_d_ff = "moe_intermediate_size",
                                     .n_shared = "n_shared_experts",
                                     .renormalize = "norm_topk_prob",
                                     .n_leading_dense = "first_k_dense_replace"}};

}  // namespace realizar
