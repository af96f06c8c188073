// XVERSE: Llama.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kXverseHfClasses[] = {"XverseForCausalLM"};

constexpr auto kXverseTensors = std::to_array<TensorSpec>({kEmbed, kHead, kFinalNorm, kAttnNorm, kGgufWqkv, kWq, kWk,
                                                           kWv, kWo, kFfnNorm, kWGate, kWUp, kWDown, kInvFreqBuffer});

}  // namespace

const ArchSpec kXverse{
    .name = "xverse", .hf_classes = kXverseHfClasses, .tensors = kXverseTensors, .gguf_interleaved_rope = true};

}  // namespace realizar
