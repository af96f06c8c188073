// Orion: Llama with LayerNorm, rotated in halves.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOrionHfClasses[] = {"OrionForCausalLM"};

constexpr auto kOrionTensors =
    std::to_array<TensorSpec>({kEmbed, kHead, kFinalNorm, kFinalNormBias, kAttnNorm, kAttnNormBias, kGgufWqkv, kWq, kWk,
                               kWv, kWo, kFfnNorm, kFfnNormBias, kWGate, kWUp, kWDown, kInvFreqBuffer});

}  // namespace

// The key is called so, and the norms are not of that kind.
const ArchSpec kOrion{.name = "orion",
                      .hf_classes = kOrionHfClasses,
                      .tensors = kOrionTensors,
                      .norm = NormKind::kLayer,
                      .hf_keys = {.norm_eps = "rms_norm_eps"}};

}  // namespace realizar
