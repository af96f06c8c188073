// Nemotron and Minitron: LayerNorm whose weights are kept less 1, a plain ffn with the square of ReLU, partial rope.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kNemotronHfClasses[] = {"NemotronForCausalLM"};

constexpr auto kNemotronTensors = std::to_array<TensorSpec>({
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
    o_bias(kOptional),
    kFfnNorm,
    kFfnNormBias,
    kWUp,
    kWDown,
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "model.layers.{}.mlp.up_proj.bias"),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "model.layers.{}.mlp.down_proj.bias"),
});

}  // namespace

const ArchSpec kNemotron{.name = "nemotron",
                         .hf_classes = kNemotronHfClasses,
                         .tensors = kNemotronTensors,
                         .norm = NormKind::kLayer,
                         .ffn = FfnKind::kPlain,
                         .activation = Activation::kReluSquared,
                         .hf_norm_plus_one = true,
                         .hf_rope_share = 0.5,
                         .hf_keys = {.norm_eps = "norm_eps"}};

}  // namespace realizar
