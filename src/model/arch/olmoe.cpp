// OLMoE: Llama with norms over all heads of q and of k, and experts weighted by the softmax without renormalization.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOlmoeHfClasses[] = {"OlmoeForCausalLM"};
constexpr HfFlag kOlmoeHfFlags[] = {{"attention_bias", false}};
constexpr HfNumber kOlmoeHfNumbers[] = {{"clip_qkv", 0}};

constexpr auto kOlmoeTensors = joined(kEnds, kAttention, kQkRowNorms, kFfnNorm, kRouter, kExperts);

}  // namespace

const ArchSpec kOlmoe{.name = "olmoe",
                      .hf_classes = kOlmoeHfClasses,
                      .tensors = kOlmoeTensors,
                      .qk_norm = QkNorm::kRow,
                      .moe = MoeRule::kAlways,
                      .hf_flags = kOlmoeHfFlags,
                      .hf_numbers = kOlmoeHfNumbers,
                      .routing = {.renormalize = false},
                      .hf_keys = {.n_experts = "num_experts", .renormalize = "norm_topk_prob"}};

}  // namespace realizar
