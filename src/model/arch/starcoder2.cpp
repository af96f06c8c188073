// StarCoder2: LayerNorm and biases everywhere, a plain ffn.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kStarcoder2HfClasses[] = {"Starcoder2ForCausalLM"};

constexpr auto kStarcoder2Tensors = std::to_array<TensorSpec>({
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
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "model.layers.{}.mlp.c_fc.weight"),
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "model.layers.{}.mlp.c_fc.bias"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "model.layers.{}.mlp.c_proj.weight"),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "model.layers.{}.mlp.c_proj.bias"),
});

}  // namespace

const ArchSpec kStarCoder2{.name = "starcoder2",
                           .hf_classes = kStarcoder2HfClasses,
                           .tensors = kStarcoder2Tensors,
                           .norm = NormKind::kLayer,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGelu,
                           .has_window = true,
                           .hf_keys = {.norm_eps = "norm_epsilon"}};

}  // namespace realizar
