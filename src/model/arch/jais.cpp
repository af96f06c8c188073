// Jais (1): LayerNorm and SwiGLU with biases, ALiBi, and q.k divided by the heads' dimensions. Its folders have factors
// that GGUF has folded into matrices: they are not read.
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
    kFinalNormBias,
    kAttnNorm,
    kAttnNormBias,
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight", ""),
    bias(Role::kBqkv, kRequired, Dim::kQkv, "blk.{}.attn_qkv.bias", ""),
    kWo,
    o_bias(kRequired),
    kFfnNorm,
    kFfnNormBias,
    kWGate,
    kWUp,
    kWDown,
    bias(Role::kBGate, kRequired, Dim::kFf, "blk.{}.ffn_gate.bias", ""),
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", ""),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", ""),
});

}  // namespace

const ArchSpec kJais{.name = "jais",
                     .hf_classes = {},
                     .tensors = kTensors,
                     .norm = NormKind::kLayer,
                     .alibi_scale = {.gguf = "attention.max_alibi_bias"},
                     .needs_alibi = true,
                     .divides_by_head_dim = true};

}  // namespace realizar
