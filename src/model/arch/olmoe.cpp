// OLMoE: Llama with norms over all of q and over all of k, and experts whose weights are the softmax's as they are.
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
