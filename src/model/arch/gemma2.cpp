// Gemma 2: norms before and after each branch, softcaps, a sliding window in every other layer.
#include <array>

#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHfClasses[] = {"Gemma2ForCausalLM"};

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    {Role::kAttnPostNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "blk.{}.post_attention_norm.weight",
     "model.layers.{}.post_attention_layernorm.weight"},
    {Role::kFfnNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "blk.{}.ffn_norm.weight",
     "model.layers.{}.pre_feedforward_layernorm.weight"},
    kWGate,
    kWUp,
    kWDown,
    {Role::kFfnPostNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "blk.{}.post_ffw_norm.weight",
     "model.layers.{}.post_feedforward_layernorm.weight"},
});

}  // namespace

const ArchSpec kGemma2{.name = "gemma2",
                       .hf_classes = kHfClasses,
                       .tensors = kTensors,
                       .norm_place = NormPlace::kSandwich,
                       .activation = Activation::kGelu,
                       .embed_scale_sqrt_d_model = true,
                       .hf_norm_plus_one = true,
                       .window = WindowPattern::kEvenLayers,
                       .attn_scale = AttnScale::kGemma2,
                       .hf_keys = {.activation = "hidden_activation"}};

}  // namespace realizar
