// Gemma: norms that multiply by 1 + w, embeddings scaled by the root of the width, heads wider than d_model / n_heads.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemmaHfClasses[] = {"GemmaForCausalLM"};

constexpr auto kGemmaTensors = joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, kFfnNorm, kGated);

}  // namespace

// config.json's hidden_act is "gelu" in some files although the approximation is meant, so only hidden_activation is
// read (transformers, GemmaMLP).
const ArchSpec kGemma{.name = "gemma",
                      .hf_classes = kGemmaHfClasses,
                      .tensors = kGemmaTensors,
                      .activation = Activation::kGelu,
                      .embed_scale = kRootOfWidth,
                      .hf_norm_plus_one = true,
                      .hf_keys = {.activation = "hidden_activation"}};

}  // namespace realizar
