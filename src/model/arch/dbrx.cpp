// DBRX: LayerNorm without biases, q, k and v brought into bounds, and experts. GGUF alone: its folders have the
// matrices of all experts one below the other.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    with_hf(kWqkv, ""),
    kWo,
    with_gguf(kFfnNorm, "blk.{}.attn_output_norm.weight"),
    kRouter,
    kExpertGate,
    kExpertUp,
    kExpertDown,
});

}  // namespace

const ArchSpec kDbrx{.name = "dbrx",
                     .hf_classes = {},
                     .tensors = kTensors,
                     .norm = NormKind::kLayer,
                     .clip = {.gguf = "attention.clamp_kqv"},
                     .moe = MoeRule::kAlways};

}  // namespace realizar
