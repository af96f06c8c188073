// Nemotron and Minitron: LayerNorm with weights stored as w - 1, a plain ffn with squared ReLU, partial rope.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kNemotronHfClasses[] = {"NemotronForCausalLM"};

constexpr auto kNemotronTensors =
    joined(kEnds, kFinalNormBias, kAttnNorm, kAttnNormBias, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo),
           kFfnNorm, kFfnNormBias, kPlain, kUpBias, kDownBias);

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
