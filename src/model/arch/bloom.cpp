// BLOOM: GPT-2 with ALiBi and a norm of the embedding.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBloomHfClasses[] = {"BloomForCausalLM"};

constexpr auto kBloomTensors = std::to_array<TensorSpec>({
    matrix(Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight",
           "transformer.word_embeddings.weight"),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", "transformer.word_embeddings_layernorm.weight"),
    bias(Role::kEmbedNormBias, kRequired, Dim::kModel, "token_embd_norm.bias",
         "transformer.word_embeddings_layernorm.bias"),
    matrix(Role::kHead, kOptional, Shard::kRows, Dim::kVocab, Dim::kModel, "output.weight", "lm_head.weight"),
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "transformer.ln_f.weight"),
    bias(Role::kFinalNormBias, kRequired, Dim::kModel, "output_norm.bias", "transformer.ln_f.bias"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.input_layernorm.weight"),
    bias(Role::kAttnNormBias, kRequired, Dim::kModel, "blk.{}.attn_norm.bias", "transformer.h.{}.input_layernorm.bias"),
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
           "transformer.h.{}.self_attention.query_key_value.weight"),
    bias(Role::kBqkv, kRequired, Dim::kQkv, "blk.{}.attn_qkv.bias",
         "transformer.h.{}.self_attention.query_key_value.bias"),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "transformer.h.{}.self_attention.dense.weight"),
    bias(Role::kBo, kRequired, Dim::kModel, "blk.{}.attn_output.bias", "transformer.h.{}.self_attention.dense.bias"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "transformer.h.{}.post_attention_layernorm.weight"),
    bias(Role::kFfnNormBias, kRequired, Dim::kModel, "blk.{}.ffn_norm.bias",
         "transformer.h.{}.post_attention_layernorm.bias"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "transformer.h.{}.mlp.dense_h_to_4h.weight"),
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "transformer.h.{}.mlp.dense_h_to_4h.bias"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "transformer.h.{}.mlp.dense_4h_to_h.weight"),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "transformer.h.{}.mlp.dense_4h_to_h.bias"),
});

constexpr HfFlag kBloomHfFlags[] = {{"apply_residual_connection_post_layernorm", false}};

}  // namespace

const ArchSpec kBloom{.name = "bloom",
                      .hf_classes = kBloomHfClasses,
                      .tensors = kBloomTensors,
                      .norm = NormKind::kLayer,
                      .ffn = FfnKind::kPlain,
                      .activation = Activation::kGelu,
                      .hf_qkv_rows = QkvRows::kByKvHead,
                      .alibi = 8,
                      .hf_n_ctx = 2048,
                      .hf_flags = kBloomHfFlags,
                      .hf_keys = {.n_layers = "n_layer",
                                  .n_heads = "n_head",
                                  .n_kv_heads = "",
                                  .d_ff = "n_inner",
                                  .n_ctx = "seq_length",
                                  .norm_eps = "layer_norm_epsilon",
                                  .activation = "",
                                  .d_ff_factor = 4}};

}  // namespace realizar
