// Orion: Llama with LayerNorm; q and k are stored in halves.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOrionHfClasses[] = {"OrionForCausalLM"};

constexpr auto kOrionTensors = joined(kEnds, kFinalNormBias, kAttnNorm, kAttnNormBias, kGgufWqkv, kQkvo, kFfnNorm,
                                      kFfnNormBias, kGated, kInvFreqBuffer);

}  // namespace

// The epsilon's key has this name although the norms are LayerNorms.
const ArchSpec kOrion{.name = "orion",
                      .hf_classes = kOrionHfClasses,
                      .tensors = kOrionTensors,
                      .norm = NormKind::kLayer,
                      .hf_keys = {.norm_eps = "rms_norm_eps"}};

}  // namespace realizar
