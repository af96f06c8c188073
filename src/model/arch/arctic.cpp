// Snowflake's Arctic: Llama with a dense ffn as wide as the model, and experts that read the layer's input in parallel
// to attention and that ffn.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kArcticHfClasses[] = {"ArcticForCausalLM"};
constexpr HfFlag kArcticHfFlags[] = {
    {"use_residual", true}, {"parallel_attn_mlp_res", true}, {"attention_bias", false}};
constexpr HfNumber kArcticHfNumbers[] = {{"moe_layer_frequency", 1}};

constexpr auto kArcticTensors =
    joined(kEnds, kAttention, with_hf(kFfnNorm, "model.layers.{}.residual_layernorm.weight"),
           with_gguf(with_hf(kSharedGate, "model.layers.{}.residual_mlp.w1.weight"), "blk.{}.ffn_gate.weight"),
           with_gguf(with_hf(kSharedUp, "model.layers.{}.residual_mlp.w3.weight"), "blk.{}.ffn_up.weight"),
           with_gguf(with_hf(kSharedDown, "model.layers.{}.residual_mlp.w2.weight"), "blk.{}.ffn_down.weight"),
           norm(Role::kExpertNorm, "blk.{}.ffn_norm_exps.weight", "model.layers.{}.post_attention_layernorm.weight"),
           kMixtralRouter, kMixtralExperts, kInvFreqBuffer);

}  // namespace

const ArchSpec kArctic{.name = "arctic",
                       .hf_classes = kArcticHfClasses,
                       .tensors = kArcticTensors,
                       .rope_pairs = RopePairs::kGguf,
                       .moe = MoeRule::kAlways,
                       .hf_flags = kArcticHfFlags,
                       .hf_numbers = kArcticHfNumbers,
                       .routing = {.input = ExpertInput::kLayerInput, .is_shared_of_model_width = true}};

}  // namespace realizar
