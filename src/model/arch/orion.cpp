// Orion: Llama with LayerNorm, rotated in halves.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOrionHfClasses[] = {"OrionForCausalLM"};

constexpr auto kOrionTensors = joined(kEnds, kFinalNormBias, kAttnNorm, kAttnNormBias, kGgufWqkv, kQkvo, kFfnNorm,
                                      kFfnNormBias, kGated, kInvFreqBuffer);

}  // namespace

// The key is called so, and the norms are not of that kind.
const ArchSpec kOrion{.name = "orion",
                      .hf_classes = kOrionHfClasses,
                      .tensors = kOrionTensors,
                      .norm = NormKind::kLayer,
                      .hf_keys = {.norm_eps = "rms_norm_eps"}};

}  // namespace realizar
