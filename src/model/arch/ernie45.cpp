// ERNIE 4.5: Llama with adjacent pairs in both formats, dense, or with experts after some dense layers, in most models
// some of them shared. Layers that predict further tokens are left out.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kErnie45HfClasses[] = {"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"};

constexpr auto kErnie45Tensors =
    joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo), kFfnNorm, kGated);

constexpr std::string_view kErnie45MoeClasses[] = {"Ernie4_5_MoeForCausalLM"};

constexpr auto kErnie45MoeTensors =
    joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo), kFfnNorm, kGated, kRouter,
           optional(with_hf(kChoiceBias, "model.layers.{}.mlp.moe_statics.e_score_correction_bias")), kExperts,
           optional(kShared));

}  // namespace

const ArchSpec kErnie45Moe{.name = "ernie4_5-moe",
                           .hf_classes = kErnie45MoeClasses,
                           .tensors = kErnie45MoeTensors,
                           .rope_pairs = RopePairs::kBoth,
                           .moe = MoeRule::kAlways,
                           .hf_left_out = "model.mtp_",
                           .hf_keys = {.n_experts = "moe_num_experts",
                                       .n_experts_used = "moe_k",
                                       .expert_d_ff = "moe_intermediate_size",
                                       .n_shared = "moe_num_shared_experts",
                                       .n_leading_dense = "moe_layer_start_index",
                                       .expert_interval = "moe_layer_interval",
                                       .last_expert_layer = "moe_layer_end_index",
                                       .score = ""}};

const ArchSpec kErnie45{
    .name = "ernie4_5", .hf_classes = kErnie45HfClasses, .tensors = kErnie45Tensors, .rope_pairs = RopePairs::kBoth};

}  // namespace realizar
