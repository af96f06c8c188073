// StableLM: LayerNorm with a gated ffn and partial rope; the 12B model has attention and ffn in parallel, and norms of
// heads.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kStablelmHfClasses[] = {"StableLmForCausalLM", "StableLMEpochForCausalLM"};

constexpr auto kStablelmTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kFinalNormBias,
    kAttnNorm,
    kAttnNormBias,
    kGgufWqkv,
    kGgufBqkv,
    kWq,
    kWk,
    kWv,
    kWo,
    q_bias(kOptional),
    k_bias(kOptional),
    v_bias(kOptional),
    head_norm(Role::kQNorm, kOptional, Dim::kHeads, "blk.{}.attn_q_norm.weight",
              "model.layers.{}.self_attn.q_layernorm.norms.{}.weight"),
    head_norm(Role::kKNorm, kOptional, Dim::kKvHeads, "blk.{}.attn_k_norm.weight",
              "model.layers.{}.self_attn.k_layernorm.norms.{}.weight"),
    norm(Role::kFfnNorm, kOptional, "blk.{}.ffn_norm.weight", "model.layers.{}.post_attention_layernorm.weight"),
    norm(Role::kFfnNormBias, kOptional, "blk.{}.ffn_norm.bias", "model.layers.{}.post_attention_layernorm.bias"),
    kWGate,
    kWUp,
    kWDown,
    kInvFreqBuffer,
});

}  // namespace

const ArchSpec kStableLm{.name = "stablelm",
                         .hf_classes = kStablelmHfClasses,
                         .tensors = kStablelmTensors,
                         .norm = NormKind::kLayer,
                         .qk_norm = QkNorm::kOwnHead,
                         .hf_rope_share = 0.25,
                         .hf_keys = {.norm_eps = "layer_norm_eps"}};

}  // namespace realizar
