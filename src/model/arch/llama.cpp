// Llama 1, 2, 3.x and models with the same graph: Mistral, SmolLM2, InternLM3; with experts, Mixtral.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kLlamaHfClasses[] = {"LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM",
                                                "InternLM3ForCausalLM"};

// Older GGUF files have one tensor per expert.
constexpr TensorSpec apart_too(TensorSpec experts, std::string_view gguf_per_expert) {
  experts.gguf_per_expert = gguf_per_expert;
  return experts;
}

constexpr auto kLlamaTensors =
    joined(kEnds, kAttention, optional(kQkvBiases), optional(kBo), kFfnNorm, kGated, kGatedBiases, kMixtralRouter,
           apart_too(kMixtralExperts[0], "blk.{}.ffn_gate.{}.weight"),
           apart_too(kMixtralExperts[1], "blk.{}.ffn_up.{}.weight"),
           apart_too(kMixtralExperts[2], "blk.{}.ffn_down.{}.weight"), kRopeFactors, kInvFreqBuffer);

}  // namespace

const ArchSpec kLlama{.name = "llama",
                      .hf_classes = kLlamaHfClasses,
                      .tensors = kLlamaTensors,
                      .rope_pairs = RopePairs::kGguf,
                      .window_rule = WindowRule::kByInterval,
                      .moe = MoeRule::kIfConfigured};

}  // namespace realizar
