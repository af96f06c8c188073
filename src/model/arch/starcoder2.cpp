// StarCoder2: LayerNorm and biases everywhere, a plain ffn.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kStarcoder2HfClasses[] = {"Starcoder2ForCausalLM"};

constexpr auto kStarcoder2Tensors = joined(
    kEnds, kFinalNormBias, kAttnNorm, kAttnNormBias, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo), kFfnNorm,
    kFfnNormBias, with_hf(kWUp, "model.layers.{}.mlp.c_fc.weight"), with_hf(kUpBias, "model.layers.{}.mlp.c_fc.bias"),
    with_hf(kWDown, "model.layers.{}.mlp.c_proj.weight"), with_hf(kDownBias, "model.layers.{}.mlp.c_proj.bias"));

}  // namespace

const ArchSpec kStarCoder2{.name = "starcoder2",
                           .hf_classes = kStarcoder2HfClasses,
                           .tensors = kStarcoder2Tensors,
                           .norm = NormKind::kLayer,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGelu,
                           .window_rule = WindowRule::kByInterval,
                           .hf_keys = {.norm_eps = "norm_epsilon"}};

}  // namespace realizar
