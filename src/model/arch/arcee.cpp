// Arcee: Llama with a plain ffn and the square of ReLU.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kArceeHfClasses[] = {"ArceeForCausalLM"};

constexpr auto kArceeTensors = std::to_array<TensorSpec>(
    {kEmbed, kHead, kFinalNorm, kAttnNorm, kGgufWqkv, kWq, kWk, kWv, kWo, kFfnNorm, kWUp, kWDown, kRopeFactors});

}  // namespace

const ArchSpec kArcee{.name = "arcee",
                      .hf_classes = kArceeHfClasses,
                      .tensors = kArceeTensors,
                      .ffn = FfnKind::kPlain,
                      .activation = Activation::kReluSquared,
                      .gguf_interleaved_rope = true,
                      .attn_scale = {.gguf = "attention.scale"}};

}  // namespace realizar
