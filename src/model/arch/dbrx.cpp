// DBRX: LayerNorm without biases, clipped q, k and v, and experts.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kDbrxHfClasses[] = {"DbrxForCausalLM"};
constexpr HfNumber kDbrxHfNumbers[] = {{"ffn_config.moe_normalize_expert_weights", 1}};

constexpr auto kDbrxTensors =
    joined(with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.norm_f.weight"),
           with_hf(kAttnNorm, "transformer.blocks.{}.norm_attn_norm.norm_1.weight"),
           with_hf(kWqkv, "transformer.blocks.{}.norm_attn_norm.attn.Wqkv.weight"),
           with_hf(kWo, "transformer.blocks.{}.norm_attn_norm.attn.out_proj.weight"),
           norm(Role::kFfnNorm, "blk.{}.attn_output_norm.weight", "transformer.blocks.{}.norm_attn_norm.norm_2.weight"),
           with_hf(kRouter, "transformer.blocks.{}.ffn.router.layer.weight"),
           with_hf(kExpertGate, "transformer.blocks.{}.ffn.experts.mlp.w1"),
           with_hf(kExpertUp, "transformer.blocks.{}.ffn.experts.mlp.v1"),
           with_hf(kExpertDown, "transformer.blocks.{}.ffn.experts.mlp.w2"));

}  // namespace

const ArchSpec kDbrx{.name = "dbrx",
                     .hf_classes = kDbrxHfClasses,
                     .tensors = kDbrxTensors,
                     .norm = NormKind::kLayer,
                     .clip = {.gguf = "attention.clamp_kqv", .hf = "attn_config.clip_qkv"},
                     .moe = MoeRule::kAlways,
                     .hf_norm_eps = 1e-5f,
                     .hf_numbers = kDbrxHfNumbers,
                     .hf_form = HfForm::kFlatExperts,
                     .hf_keys = {.d_model = "d_model",
                                 .n_layers = "n_layers",
                                 .n_heads = "n_heads",
                                 .n_kv_heads = "attn_config.kv_n_heads",
                                 .d_ff = "ffn_config.ffn_hidden_size",
                                 .n_ctx = "max_seq_len",
                                 .norm_eps = "layer_norm_epsilon",
                                 .activation = "ffn_config.ffn_act_fn.name",
                                 .n_experts = "ffn_config.moe_num_experts",
                                 .n_experts_used = "ffn_config.moe_top_k",
                                 .expert_d_ff = "ffn_config.ffn_hidden_size",
                                 .rope_base = "attn_config.rope_theta"}};

}  // namespace realizar
