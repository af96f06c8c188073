// Ling 2.0 and Ring: fused q, k and v, norms of each head of q and k, half of each head rotated. After some dense
// layers experts, one of them shared, are chosen from groups by sigmoids and biases.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBailingMoe2HfClasses[] = {"BailingMoeV2ForCausalLM"};
constexpr HfFlag kBailingMoe2HfFlags[] = {{"use_qkv_bias", false}, {"use_bias", false}, {"use_qk_norm", true}};

constexpr auto kBailingMoe2Tensors =
    joined(with_hf(kEmbed, "model.word_embeddings.weight"), kHead, kFinalNorm, kAttnNorm,
           with_hf(kWqkv, "model.layers.{}.attention.query_key_value.weight"),
           with_hf(kWo, "model.layers.{}.attention.dense.weight"),
           with_hf(kQNorm, "model.layers.{}.attention.query_layernorm.weight"),
           with_hf(kKNorm, "model.layers.{}.attention.key_layernorm.weight"), kFfnNorm, kGated, kRouter,
           optional(with_hf(kChoiceBias, "model.layers.{}.mlp.gate.expert_bias")), kExperts, kShared);

}  // namespace

const ArchSpec kBailingMoe2{.name = "bailingmoe2",
                            .hf_classes = kBailingMoe2HfClasses,
                            .tensors = kBailingMoe2Tensors,
                            .qk_norm = QkNorm::kHead,
                            .hf_rope_share = 0.5,
                            .moe = MoeRule::kAlways,
                            .hf_flags = kBailingMoe2HfFlags,
                            .routing = {.renormalize = false, .gguf_shared_width_is_of_one = true},
                            .hf_keys = {.n_experts = "num_experts",
                                        .expert_d_ff = "moe_intermediate_size",
                                        .n_shared = "num_shared_experts",
                                        .renormalize = "norm_topk_prob",
                                        .routed_scale = "routed_scaling_factor",
                                        .n_leading_dense = "first_k_dense_replace",
                                        .score = "score_function"}};

}  // namespace realizar
