// Gemma: norms that multiply by 1 + w, an embedding scaled by the root of the width, heads wider than their share.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemmaHfClasses[] = {"GemmaForCausalLM"};

constexpr auto kGemmaTensors = joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, kFfnNorm, kGated);

}  // namespace

// config.json's hidden_act is "gelu" in some files and means the approximation: hidden_activation alone is read
// (transformers, GemmaMLP).
const ArchSpec kGemma{.name = "gemma",
                      .hf_classes = kGemmaHfClasses,
                      .tensors = kGemmaTensors,
                      .activation = Activation::kGelu,
                      .embed_scale = kRootOfWidth,
                      .hf_norm_plus_one = true,
                      .hf_keys = {.activation = "hidden_activation"}};

}  // namespace realizar
