// Apertus: Llama with norms of q and k and a plain ffn with xIELU, whose parameters differ from layer to layer.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kApertusHfClasses[] = {"ApertusForCausalLM"};

constexpr TensorSpec number(Role role, std::string_view hf) {
  return {role, kRequired, Shard::kWhole, Dim::kNone, Dim::kNone, "", hf};
}

constexpr auto kApertusTensors =
    joined(kEnds, with_hf(kAttnNorm, "model.layers.{}.attention_layernorm.weight"), kGgufWqkv, kQkvo, kQkNorms,
           with_hf(kFfnNorm, "model.layers.{}.feedforward_layernorm.weight"), kPlain,
           number(Role::kXieluAlphaP, "model.layers.{}.mlp.act_fn.alpha_p"),
           number(Role::kXieluAlphaN, "model.layers.{}.mlp.act_fn.alpha_n"),
           number(Role::kXieluBeta, "model.layers.{}.mlp.act_fn.beta"),
           number(Role::kXieluEps, "model.layers.{}.mlp.act_fn.eps"), kRopeFactors);

}  // namespace

const ArchSpec kApertus{.name = "apertus",
                        .hf_classes = kApertusHfClasses,
                        .tensors = kApertusTensors,
                        .ffn = FfnKind::kPlain,
                        .activation = Activation::kXielu,
                        .qk_norm = QkNorm::kHead,
                        .hf_keys = {.activation = ""}};

}  // namespace realizar
