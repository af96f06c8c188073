// Qwen (fused q, k and v, an ffn of half the width that files tell), Qwen2 (biases on q, k, v), Qwen2-MoE (and experts,
// one of them shared), Qwen3 (q/k norms instead of the biases), Qwen3-MoE (and experts).
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kQwenClasses[] = {"QWenLMHeadModel"};
constexpr std::string_view kQwen2Classes[] = {"Qwen2ForCausalLM"};
constexpr std::string_view kQwen2MoeClasses[] = {"Qwen2MoeForCausalLM"};
constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM", "Qwen3ForSequenceClassification"};
constexpr std::string_view kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};

constexpr auto kQwenTensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight", "transformer.wte.weight"},
    kHead,
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "transformer.ln_f.weight"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.ln_1.weight"),
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
           "transformer.h.{}.attn.c_attn.weight"),
    bias(Role::kBqkv, kRequired, Dim::kQkv, "blk.{}.attn_qkv.bias", "transformer.h.{}.attn.c_attn.bias"),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "transformer.h.{}.attn.c_proj.weight"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "transformer.h.{}.ln_2.weight"),
    matrix(Role::kWGate, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_gate.weight",
           "transformer.h.{}.mlp.w2.weight"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "transformer.h.{}.mlp.w1.weight"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "transformer.h.{}.mlp.c_proj.weight"),
    ignored("transformer.h.{}.attn.rotary_emb.inv_freq"),
});

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
    // Of rerankers: the scores of "yes" and "no", or in folders how much the former is above the latter.
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.output.weight", "score.weight"),
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
    kRouter,
    kExpertGate,
    kExpertUp,
    kExpertDown,
});

constexpr auto kQwen2MoeTensors = std::to_array<TensorSpec>({
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
    kRouter,
    kExpertGate,
    kExpertUp,
    kExpertDown,
    {Role::kSharedRouter, kRequired, Shard::kWhole, Dim::kNone, Dim::kModel, "blk.{}.ffn_gate_inp_shexp.weight",
     "model.layers.{}.mlp.shared_expert_gate.weight"},
    shared_expert(Role::kSharedGate, "blk.{}.ffn_gate_shexp.weight",
                  "model.layers.{}.mlp.shared_expert.gate_proj.weight"),
    shared_expert(Role::kSharedUp, "blk.{}.ffn_up_shexp.weight", "model.layers.{}.mlp.shared_expert.up_proj.weight"),
    shared_expert(Role::kSharedDown, "blk.{}.ffn_down_shexp.weight",
                  "model.layers.{}.mlp.shared_expert.down_proj.weight"),
});

}  // namespace

const ArchSpec kQwen{.name = "qwen",
                     .hf_classes = kQwenClasses,
                     .tensors = kQwenTensors,
                     .d_ff_divisor = 2,
                     .hf_keys = {.n_kv_heads = "",
                                 .n_ctx = "seq_length",
                                 .norm_eps = "layer_norm_epsilon",
                                 .activation = "",
                                 .rope_base = "rotary_emb_base"}};

const ArchSpec kQwen2{.name = "qwen2",
                      .hf_classes = kQwen2Classes,
                      .tensors = kQwen2Tensors,
                      .has_window = true,
                      .hf_windows = HfWindows::kFromLayer};

const ArchSpec kQwen2Moe{.name = "qwen2moe",
                         .hf_classes = kQwen2MoeClasses,
                         .tensors = kQwen2MoeTensors,
                         .has_window = true,
                         .hf_windows = HfWindows::kEvenBeforeLayer,
                         .moe = MoeRule::kAlways,
                         .routing = {.renormalize = false},
                         .hf_keys = {.n_experts = "num_experts",
                                     .expert_d_ff = "moe_intermediate_size",
                                     .shared_d_ff = "shared_expert_intermediate_size",
                                     .renormalize = "norm_topk_prob"}};

const ArchSpec kQwen3{.name = "qwen3",
                      .hf_classes = kQwen3Classes,
                      .tensors = kQwen3Tensors,
                      .qk_norm = QkNorm::kHead,
                      .has_window = true,
                      .hf_windows = HfWindows::kFromLayer};

const ArchSpec kQwen3Moe{
    .name = "qwen3moe",
    .hf_classes = kQwen3MoeClasses,
    .tensors = kQwen3MoeTensors,
    .qk_norm = QkNorm::kHead,
    .has_window = true,
    .hf_windows = HfWindows::kAll,
    .moe = MoeRule::kAlways,
    .hf_keys = {.n_experts = "num_experts", .expert_d_ff = "moe_intermediate_size", .renormalize = "norm_topk_prob"}};

}  // namespace realizar
