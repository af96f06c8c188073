// XVERSE: Llama.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kXverseHfClasses[] = {"XverseForCausalLM"};

constexpr auto kXverseTensors = joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, kFfnNorm, kGated, kInvFreqBuffer);

}  // namespace

const ArchSpec kXverse{
    .name = "xverse", .hf_classes = kXverseHfClasses, .tensors = kXverseTensors, .rope_pairs = RopePairs::kGguf};

}  // namespace realizar
