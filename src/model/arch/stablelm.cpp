// StableLM: LayerNorm with a gated ffn and partial rope; the 12B model has attention and ffn in parallel, and one norm
// for each head.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kStablelmHfClasses[] = {"StableLmForCausalLM", "StableLMEpochForCausalLM"};

constexpr auto kStablelmTensors =
    joined(kEnds, kFinalNormBias, kAttnNorm, kAttnNormBias, kGgufQkv, kQkvo, optional(kQkvBiases),
           whole(Role::kQNorm, kOptional, Dim::kHeads, Dim::kHead, "blk.{}.attn_q_norm.weight",
                 "model.layers.{}.self_attn.q_layernorm.norms.{}.weight"),
           whole(Role::kKNorm, kOptional, Dim::kKvHeads, Dim::kHead, "blk.{}.attn_k_norm.weight",
                 "model.layers.{}.self_attn.k_layernorm.norms.{}.weight"),
           optional(kFfnNorm), optional(kFfnNormBias), kGated, kInvFreqBuffer);

}  // namespace

const ArchSpec kStableLm{.name = "stablelm",
                         .hf_classes = kStablelmHfClasses,
                         .tensors = kStablelmTensors,
                         .norm = NormKind::kLayer,
                         .qk_norm = QkNorm::kOwnHead,
                         .hf_rope_share = 0.25,
                         .hf_keys = {.norm_eps = "layer_norm_eps"}};

}  // namespace realizar
