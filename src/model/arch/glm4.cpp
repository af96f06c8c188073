// GLM-4 (0414): norms before and after each branch, half of each head rotated in adjacent pairs, fused gate and up.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGlm4HfClasses[] = {"Glm4ForCausalLM"};

constexpr auto kGlm4Tensors =
    joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases),
           with_hf(kSandwichAttnPostNorm, "model.layers.{}.post_self_attn_layernorm.weight"), kFfnNorm, kWGateUp,
           kWDown, with_hf(kSandwichFfnPostNorm, "model.layers.{}.post_mlp_layernorm.weight"));

}  // namespace

const ArchSpec kGlm4{.name = "glm4",
                     .hf_classes = kGlm4HfClasses,
                     .tensors = kGlm4Tensors,
                     .norm_place = NormPlace::kSandwich,
                     .rope_pairs = RopePairs::kBoth,
                     .hf_rope_share = 0.5};

}  // namespace realizar
