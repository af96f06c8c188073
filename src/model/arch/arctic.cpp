// Snowflake's Arctic: Llama with a dense ffn as wide as the model, and experts beside attention and that ffn, which
// read what the layer begins with.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kArcticHfClasses[] = {"ArcticForCausalLM"};
constexpr HfFlag kArcticHfFlags[] = {
    {"use_residual", true}, {"parallel_attn_mlp_res", true}, {"attention_bias", false}};
constexpr HfNumber kArcticHfNumbers[] = {{"moe_layer_frequency", 1}};

constexpr auto kArcticTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    with_hf(kFfnNorm, "model.layers.{}.residual_layernorm.weight"),
    shared_expert(Role::kSharedGate, "blk.{}.ffn_gate.weight", "model.layers.{}.residual_mlp.w1.weight"),
    shared_expert(Role::kSharedUp, "blk.{}.ffn_up.weight", "model.layers.{}.residual_mlp.w3.weight"),
    shared_expert(Role::kSharedDown, "blk.{}.ffn_down.weight", "model.layers.{}.residual_mlp.w2.weight"),
    norm(Role::kExpertNorm, kRequired, "blk.{}.ffn_norm_exps.weight",
         "model.layers.{}.post_attention_layernorm.weight"),
    with_hf(kRouter, "model.layers.{}.block_sparse_moe.gate.weight"),
    with_hf(kExpertGate, "model.layers.{}.block_sparse_moe.experts.{}.w1.weight"),
    with_hf(kExpertUp, "model.layers.{}.block_sparse_moe.experts.{}.w3.weight"),
    with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.experts.{}.w2.weight"),
    kInvFreqBuffer,
});

}  // namespace

const ArchSpec kArctic{.name = "arctic",
                       .hf_classes = kArcticHfClasses,
                       .tensors = kArcticTensors,
                       .gguf_interleaved_rope = true,
                       .moe = MoeRule::kAlways,
                       .hf_flags = kArcticHfFlags,
                       .hf_numbers = kArcticHfNumbers,
                       .routing = {.input = ExpertInput::kLayerInput, .is_shared_of_model_width = true}};

}  // namespace realizar
