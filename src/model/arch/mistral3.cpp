// Mistral Small 3 and Ministral 3: Llama; in Ministral, queries grow with their position.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMistral3HfClasses[] = {"Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"};

constexpr auto kMistral3Tensors = joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo),
                                         kFfnNorm, kGated, kGatedBiases, kRopeFactors);

}  // namespace

const ArchSpec kMistral3{
    .name = "mistral3",
    .hf_classes = kMistral3HfClasses,
    .tensors = kMistral3Tensors,
    .rope_pairs = RopePairs::kGguf,
    .attn_scale = {.gguf = "attention.scale"},
    .temperature = {.gguf = "attention.temperature_scale", .hf = "rope_parameters.llama_4_scaling_beta"}};

}  // namespace realizar
