// MPT: LayerNorm, ALiBi and an ffn of GELU, biases only in some models.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMptHfClasses[] = {"MPTForCausalLM", "MptForCausalLM"};

constexpr auto kMptTensors = std::to_array<TensorSpec>({
    matrix(Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight",
           "transformer.wte.weight"),
    matrix(Role::kHead, kOptional, Shard::kRows, Dim::kVocab, Dim::kModel, "output.weight", "lm_head.weight"),
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "transformer.norm_f.weight"),
    bias(Role::kFinalNormBias, kOptional, Dim::kModel, "output_norm.bias", "transformer.norm_f.bias"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.blocks.{}.norm_1.weight"),
    bias(Role::kAttnNormBias, kOptional, Dim::kModel, "blk.{}.attn_norm.bias", "transformer.blocks.{}.norm_1.bias"),
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
           "transformer.blocks.{}.attn.Wqkv.weight"),
    bias(Role::kBqkv, kOptional, Dim::kQkv, "blk.{}.attn_qkv.bias", "transformer.blocks.{}.attn.Wqkv.bias"),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "transformer.blocks.{}.attn.out_proj.weight"),
    bias(Role::kBo, kOptional, Dim::kModel, "blk.{}.attn_output.bias", "transformer.blocks.{}.attn.out_proj.bias"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "transformer.blocks.{}.norm_2.weight"),
    bias(Role::kFfnNormBias, kOptional, Dim::kModel, "blk.{}.ffn_norm.bias", "transformer.blocks.{}.norm_2.bias"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "transformer.blocks.{}.ffn.up_proj.weight"),
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "transformer.blocks.{}.ffn.up_proj.bias"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "transformer.blocks.{}.ffn.down_proj.weight"),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "transformer.blocks.{}.ffn.down_proj.bias"),
});

// Norms of q and k and other ways to tell positions are refused.
constexpr HfFlag kMptHfFlags[] = {
    {"attn_config.alibi", true}, {"attn_config.qk_ln", false}, {"attn_config.prefix_lm", false}};

}  // namespace

const ArchSpec kMpt{.name = "mpt",
                    .hf_classes = kMptHfClasses,
                    .tensors = kMptTensors,
                    .norm = NormKind::kLayer,
                    .ffn = FfnKind::kPlain,
                    .activation = Activation::kGelu,
                    .hf_activation = Activation::kGeluErf,
                    .clip = {.gguf = "attention.clamp_kqv", .hf = "attn_config.clip_qkv"},
                    .alibi_scale = {.gguf = "attention.max_alibi_bias", .hf = "attn_config.alibi_bias_max"},
                    .needs_alibi = true,
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
                                .d_ff_factor = 4}};

}  // namespace realizar
