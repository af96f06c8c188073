// OpenELM: Llama with norms of q and k, whose layers have more heads and wider ffns the later they come.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kFinalNorm,
    kAttnNorm,
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight", ""),
    kQNorm,
    kKNorm,
    kWo,
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
});

}  // namespace

const ArchSpec kOpenElm{
    .name = "openelm", .hf_classes = {}, .tensors = kTensors, .qk_norm = QkNorm::kHead, .has_layer_heads = true};

}  // namespace realizar
