// GLM-4 (0414): norms before and after each branch, half of each head rotated in pairs as they lie, fused gate and up.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGlm4HfClasses[] = {"Glm4ForCausalLM"};

constexpr auto kGlm4Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kGgufWqkv,
    kGgufBqkv,
    kWq,
    kWk,
    kWv,
    kWo,
    q_bias(kOptional),
    k_bias(kOptional),
    v_bias(kOptional),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.post_attention_norm.weight",
         "model.layers.{}.post_self_attn_layernorm.weight"),
    kFfnNorm,
    matrix(Role::kWGateUp, kRequired, Shard::kRows, Dim::kGateUp, Dim::kModel, "blk.{}.ffn_up.weight",
           "model.layers.{}.mlp.gate_up_proj.weight"),
    kWDown,
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.post_ffw_norm.weight", "model.layers.{}.post_mlp_layernorm.weight"),
});

}  // namespace

const ArchSpec kGlm4{.name = "glm4",
                     .hf_classes = kGlm4HfClasses,
                     .tensors = kGlm4Tensors,
                     .norm_place = NormPlace::kSandwich,
                     .gguf_interleaved_rope = true,
                     .hf_interleaved_rope = true,
                     .hf_rope_share = 0.5};

}  // namespace realizar
