// Refact: Llama with ALiBi and one KV head. Its folders keep k and v, and gate and up, in one matrix each: they are
// not read.
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
    kGgufWqkv,
    kWq,
    kWk,
    kWv,
    kWo,
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
});

}  // namespace

const ArchSpec kRefact{.name = "refact", .hf_classes = {}, .tensors = kTensors, .alibi = 8};

}  // namespace realizar
