// GPT-NeoX and Pythia: a norm each for attention and ffn, mostly in parallel; partial rope, fused q, k and v, biases.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGptneoxHfClasses[] = {"GPTNeoXForCausalLM"};

constexpr auto kGptneoxTensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight", "gpt_neox.embed_in.weight"},
    {Role::kHead, kOptional, Shard::kRows, Dim::kVocab, Dim::kModel, "output.weight", "embed_out.weight"},
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "gpt_neox.final_layer_norm.weight"),
    norm(Role::kFinalNormBias, kRequired, "output_norm.bias", "gpt_neox.final_layer_norm.bias"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "gpt_neox.layers.{}.input_layernorm.weight"),
    norm(Role::kAttnNormBias, kRequired, "blk.{}.attn_norm.bias", "gpt_neox.layers.{}.input_layernorm.bias"),
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
           "gpt_neox.layers.{}.attention.query_key_value.weight"),
    bias(Role::kBqkv, kOptional, Dim::kQkv, "blk.{}.attn_qkv.bias",
         "gpt_neox.layers.{}.attention.query_key_value.bias"),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "gpt_neox.layers.{}.attention.dense.weight"),
    bias(Role::kBo, kOptional, Dim::kModel, "blk.{}.attn_output.bias", "gpt_neox.layers.{}.attention.dense.bias"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "gpt_neox.layers.{}.post_attention_layernorm.weight"),
    norm(Role::kFfnNormBias, kRequired, "blk.{}.ffn_norm.bias", "gpt_neox.layers.{}.post_attention_layernorm.bias"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "gpt_neox.layers.{}.mlp.dense_h_to_4h.weight"),
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "gpt_neox.layers.{}.mlp.dense_h_to_4h.bias"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "gpt_neox.layers.{}.mlp.dense_4h_to_h.weight"),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "gpt_neox.layers.{}.mlp.dense_4h_to_h.bias"),
    ignored("gpt_neox.layers.{}.attention.bias"),
    ignored("gpt_neox.layers.{}.attention.masked_bias"),
    ignored("gpt_neox.layers.{}.attention.rotary_emb.inv_freq"),
});

}  // namespace

const ArchSpec kGptNeoX{
    .name = "gptneox",
    .hf_classes = kGptneoxHfClasses,
    .tensors = kGptneoxTensors,
    .norm = NormKind::kLayer,
    .norm_place = NormPlace::kParallelApart,
    .ffn = FfnKind::kPlain,
    .activation = Activation::kGelu,
    .hf_activation = Activation::kGeluErf,
    .hf_qkv_rows = QkvRows::kByKvHead,
    .hf_rope_share = 0.25,
    .parallel_key = "use_parallel_residual",
    .hf_keys = {
        .n_kv_heads = "", .norm_eps = "layer_norm_eps", .rope_base = "rotary_emb_base", .rope_share = "rotary_pct"}};

}  // namespace realizar
