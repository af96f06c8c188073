// Arcee: Llama with a plain ffn and squared ReLU.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kArceeHfClasses[] = {"ArceeForCausalLM"};

constexpr auto kArceeTensors = joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, kFfnNorm, kPlain, kRopeFactors);

}  // namespace

const ArchSpec kArcee{.name = "arcee",
                      .hf_classes = kArceeHfClasses,
                      .tensors = kArceeTensors,
                      .ffn = FfnKind::kPlain,
                      .activation = Activation::kReluSquared,
                      .rope_pairs = RopePairs::kGguf,
                      .attn_scale = {.gguf = "attention.scale"}};

}  // namespace realizar
