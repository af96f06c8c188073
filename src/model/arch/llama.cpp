// Llama 1, 2, 3.x and what shares its graph: Mistral, SmolLM2, InternLM3; with experts, Mixtral.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kLlamaHfClasses[] = {"LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM",
                                                "InternLM3ForCausalLM"};

constexpr auto kLlamaTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    q_bias(kOptional),
    k_bias(kOptional),
    v_bias(kOptional),
    o_bias(kOptional),
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
    kGateBias,
    kUpBias,
    kDownBias,
    {Role::kRouter, kRequired, Shard::kWhole, Dim::kExperts, Dim::kModel, "blk.{}.ffn_gate_inp.weight",
     "model.layers.{}.block_sparse_moe.gate.weight"},
    {Role::kExpertGate, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_gate_exps.weight",
     "model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate.{}.weight"},
    {Role::kExpertUp, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_up_exps.weight",
     "model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up.{}.weight"},
    {Role::kExpertDown, kRequired, Shard::kCols, Dim::kModel, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight",
     "model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down.{}.weight"},
    kRopeFactors,
    kInvFreqBuffer,
});

}  // namespace

const ArchSpec kLlama{.name = "llama",
                      .hf_classes = kLlamaHfClasses,
                      .tensors = kLlamaTensors,
                      .gguf_interleaved_rope = true,
                      .has_window = true,
                      .moe = MoeRule::kIfConfigured};

}  // namespace realizar
