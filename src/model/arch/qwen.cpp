// Qwen (fused q, k and v, an ffn of half the width in the file), Qwen2 (biases on q, k and v), Qwen2-MoE (and experts,
// one of them shared), Qwen3 (norms of q and k instead of the biases), Qwen3-MoE (and experts).
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kQwenClasses[] = {"QWenLMHeadModel"};
constexpr std::string_view kQwen2Classes[] = {"Qwen2ForCausalLM"};
constexpr std::string_view kQwen2MoeClasses[] = {"Qwen2MoeForCausalLM"};
constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM", "Qwen3ForSequenceClassification"};
constexpr std::string_view kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};

constexpr auto kQwenTensors =
    joined(with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.ln_f.weight"),
           with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"), with_hf(kWqkv, "transformer.h.{}.attn.c_attn.weight"),
           with_hf(kBqkv, "transformer.h.{}.attn.c_attn.bias"), with_hf(kWo, "transformer.h.{}.attn.c_proj.weight"),
           with_hf(kFfnNorm, "transformer.h.{}.ln_2.weight"), with_hf(kWGate, "transformer.h.{}.mlp.w2.weight"),
           with_hf(kWUp, "transformer.h.{}.mlp.w1.weight"), with_hf(kWDown, "transformer.h.{}.mlp.c_proj.weight"),
           ignored("transformer.h.{}.attn.rotary_emb.inv_freq"));

constexpr auto kQwen2Tensors = joined(kEnds, kAttention, kQkvBiases, kFfnNorm, kGated);

constexpr auto kQwen3Tensors =
    joined(kEnds, kAttention, kQkNorms, kFfnNorm, kGated,
           // Rerankers: the scores of "yes" and "no", or in folders their difference.
           whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.output.weight", "score.weight"));

constexpr auto kQwen3MoeTensors = joined(kEnds, kAttention, kQkNorms, kFfnNorm, kRouter, kExperts);

constexpr auto kQwen2MoeTensors = joined(kEnds, kAttention, kQkvBiases, kFfnNorm, kRouter, kExperts, kQwenShared);

// Files have twice the width of the ffn.
Status halve_d_ff(const ConfigKeys&, ModelConfig& c) {
  c.d_ff /= 2;
  change_each<GatedConfig>(c, [](GatedConfig& own) { own.d_ff /= 2; });
  return {};
}

void tell_twice_d_ff(const ModelConfig& c, KeyTeller& keys) {
  keys.set("feed_forward_length", "intermediate_size", uint64_t{2} * c.d_ff);
}

}  // namespace

const ArchSpec kQwen{.name = "qwen",
                     .hf_classes = kQwenClasses,
                     .tensors = kQwenTensors,
                     .hf_keys = {.n_kv_heads = "",
                                 .n_ctx = "seq_length",
                                 .norm_eps = "layer_norm_epsilon",
                                 .activation = "",
                                 .rope_base = "rotary_emb_base"},
                     .adjust = halve_d_ff,
                     .tell = tell_twice_d_ff};

const ArchSpec kQwen2{
    .name = "qwen2", .hf_classes = kQwen2Classes, .tensors = kQwen2Tensors, .window_rule = WindowRule::kFromLayer};

const ArchSpec kQwen2Moe{.name = "qwen2moe",
                         .hf_classes = kQwen2MoeClasses,
                         .tensors = kQwen2MoeTensors,
                         .window_rule = WindowRule::kEvenBeforeLayer,
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
                      .window_rule = WindowRule::kFromLayer};

const ArchSpec kQwen3Moe{
    .name = "qwen3moe",
    .hf_classes = kQwen3MoeClasses,
    .tensors = kQwen3MoeTensors,
    .qk_norm = QkNorm::kHead,
    .window_rule = WindowRule::kAll,
    .moe = MoeRule::kAlways,
    .hf_keys = {.n_experts = "num_experts", .expert_d_ff = "moe_intermediate_size", .renormalize = "norm_topk_prob"}};

}  // namespace realizar
