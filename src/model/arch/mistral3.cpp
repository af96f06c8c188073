// Mistral Small 3 and Ministral 3: Llama, in Ministral with queries that grow with their position.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMistral3HfClasses[] = {"Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"};

constexpr auto kMistral3Tensors = std::to_array<TensorSpec>({
    kEmbed, kHead,  kFinalNorm,        kAttnNorm,         kGgufWqkv,         kGgufBqkv,         kWq,      kWk,
    kWv,    kWo,    q_bias(kOptional), k_bias(kOptional), v_bias(kOptional), o_bias(kOptional), kFfnNorm, kWGate,
    kWUp,   kWDown, kGateBias,         kUpBias,           kDownBias,         kRopeFactors,
});

}  // namespace

const ArchSpec kMistral3{
    .name = "mistral3",
    .hf_classes = kMistral3HfClasses,
    .tensors = kMistral3Tensors,
    .gguf_interleaved_rope = true,
    .attn_scale = {.gguf = "attention.scale"},
    .temperature = {.gguf = "attention.temperature_scale", .hf = "rope_parameters.llama_4_scaling_beta"}};

}  // namespace realizar
