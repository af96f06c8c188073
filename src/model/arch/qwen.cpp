// Qwen2 (biases on q, k, v), Qwen3 (q/k norms instead), Qwen3-MoE (and experts).
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kQwen2Classes[] = {"Qwen2ForCausalLM"};
constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM"};
constexpr std::string_view kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};

constexpr auto kQwen2Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    q_bias(kRequired),
    k_bias(kRequired),
    v_bias(kRequired),
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
});

constexpr auto kQwen3Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    kQNorm,
    kKNorm,
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
});

constexpr auto kQwen3MoeTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    kQNorm,
    kKNorm,
    kFfnNorm,
    {Role::kRouter, kRequired, Shard::kWhole, Dim::kExperts, Dim::kModel, "blk.{}.ffn_gate_inp.weight",
     "model.layers.{}.mlp.gate.weight"},
    {Role::kExpertGate, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_gate_exps.weight",
     "model.layers.{}.mlp.experts.{}.gate_proj.weight"},
    {Role::kExpertUp, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_up_exps.weight",
     "model.layers.{}.mlp.experts.{}.up_proj.weight"},
    {Role::kExpertDown, kRequired, Shard::kCols, Dim::kModel, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight",
     "model.layers.{}.mlp.experts.{}.down_proj.weight"},
});

}  // namespace

const ArchSpec kQwen2{.name = "qwen2", .hf_classes = kQwen2Classes, .tensors = kQwen2Tensors};

const ArchSpec kQwen3{.name = "qwen3", .hf_classes = kQwen3Classes, .tensors = kQwen3Tensors, .qk_norm = true};

const ArchSpec kQwen3Moe{
    .name = "qwen3moe",
    .hf_classes = kQwen3MoeClasses,
    .tensors = kQwen3MoeTensors,
    .qk_norm = true,
    .moe = MoeRule::kAlways,
    .hf_keys = {.n_experts = "num_experts", .expert_d_ff = "moe_intermediate_size", .renormalize = "norm_topk_prob"}};

}  // namespace realizar
