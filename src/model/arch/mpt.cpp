// MPT: LayerNorm, ALiBi and a plain ffn with GELU; biases only in some models.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMptHfClasses[] = {"MPTForCausalLM", "MptForCausalLM"};

constexpr auto kMptTensors =
    joined(with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.norm_f.weight"),
           optional(with_hf(kFinalNormBias, "transformer.norm_f.bias")),
           with_hf(kAttnNorm, "transformer.blocks.{}.norm_1.weight"),
           optional(with_hf(kAttnNormBias, "transformer.blocks.{}.norm_1.bias")),
           with_hf(kWqkv, "transformer.blocks.{}.attn.Wqkv.weight"),
           with_hf(kGgufBqkv, "transformer.blocks.{}.attn.Wqkv.bias"),
           with_hf(kWo, "transformer.blocks.{}.attn.out_proj.weight"),
           optional(with_hf(kBo, "transformer.blocks.{}.attn.out_proj.bias")),
           with_hf(kFfnNorm, "transformer.blocks.{}.norm_2.weight"),
           optional(with_hf(kFfnNormBias, "transformer.blocks.{}.norm_2.bias")),
           with_hf(kWUp, "transformer.blocks.{}.ffn.up_proj.weight"),
           with_hf(kUpBias, "transformer.blocks.{}.ffn.up_proj.bias"),
           with_hf(kWDown, "transformer.blocks.{}.ffn.down_proj.weight"),
           with_hf(kDownBias, "transformer.blocks.{}.ffn.down_proj.bias"));

// Norms of q and k and other position encodings are refused.
constexpr HfFlag kMptHfFlags[] = {
    {"attn_config.alibi", true}, {"attn_config.qk_ln", false}, {"attn_config.prefix_lm", false}};

}  // namespace

const ArchSpec kMpt{.name = "mpt",
                    .hf_classes = kMptHfClasses,
                    .tensors = kMptTensors,
                    .norm = NormKind::kLayer,
                    .ffn = FfnKind::kPlain,
                    .activation = Activation::kGelu,
                    .clip = {.gguf = "attention.clamp_kqv", .hf = "attn_config.clip_qkv"},
                    .alibi = {.gguf = "attention.max_alibi_bias", .hf = "attn_config.alibi_bias_max"},
                    .hf_norm_eps = 1e-5f,
                    .hf_flags = kMptHfFlags,
                    .hf_keys = {.d_model = "d_model",
                                .n_layers = "n_layers",
                                .n_heads = "n_heads",
                                .n_kv_heads = "",
                                .d_ff = "",
                                .n_ctx = "max_seq_len",
                                .norm_eps = "layer_norm_epsilon",
                                .activation = "",
                                .d_ff_factor = 4,
                                .default_activation = Activation::kGeluErf}};

}  // namespace realizar
