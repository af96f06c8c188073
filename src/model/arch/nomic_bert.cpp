// Nomic BERT: BERT with rotations instead of learned positions, fused q/k/v and a gated ffn. Jina's v2 with ALiBi and
// a gated ffn with the exact GELU, and her v3 with rotations and plain ffns.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kNomicClasses[] = {"NomicBertModel"};
constexpr std::string_view kJinaClasses[] = {"JinaBertModel", "JinaBertForMaskedLM"};

constexpr auto kNomicTensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, "embeddings.word_embeddings.weight"),
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight",
          "embeddings.token_type_embeddings.weight"),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", "emb_ln.weight"),
    norm(Role::kEmbedNormBias, kRequired, "token_embd_norm.bias", "emb_ln.bias"),
    with_hf(kWqkv, "encoder.layers.{}.attn.Wqkv.weight"),
    with_hf(kWo, "encoder.layers.{}.attn.out_proj.weight"),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight", "encoder.layers.{}.norm1.weight"),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias", "encoder.layers.{}.norm1.bias"),
    with_hf(kWGate, "encoder.layers.{}.mlp.fc12.weight"),
    with_hf(kWUp, "encoder.layers.{}.mlp.fc11.weight"),
    with_hf(kWDown, "encoder.layers.{}.mlp.fc2.weight"),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight", "encoder.layers.{}.norm2.weight"),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias", "encoder.layers.{}.norm2.bias"),
});

constexpr auto kJinaV2Tensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, "bert.embeddings.word_embeddings.weight"),
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight",
          "bert.embeddings.token_type_embeddings.weight"),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", "bert.embeddings.LayerNorm.weight"),
    norm(Role::kEmbedNormBias, kRequired, "token_embd_norm.bias", "bert.embeddings.LayerNorm.bias"),
    kGgufWqkv,
    kGgufBqkv,
    with_hf(kWq, "bert.encoder.layer.{}.attention.self.query.weight"),
    with_hf(kWk, "bert.encoder.layer.{}.attention.self.key.weight"),
    with_hf(kWv, "bert.encoder.layer.{}.attention.self.value.weight"),
    with_hf(q_bias(kOptional), "bert.encoder.layer.{}.attention.self.query.bias"),
    with_hf(k_bias(kOptional), "bert.encoder.layer.{}.attention.self.key.bias"),
    with_hf(v_bias(kOptional), "bert.encoder.layer.{}.attention.self.value.bias"),
    with_hf(kWo, "bert.encoder.layer.{}.attention.output.dense.weight"),
    with_hf(o_bias(kRequired), "bert.encoder.layer.{}.attention.output.dense.bias"),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight",
         "bert.encoder.layer.{}.attention.output.LayerNorm.weight"),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias",
         "bert.encoder.layer.{}.attention.output.LayerNorm.bias"),
    with_hf(kWGate, ""),
    with_hf(kWUp, ""),
    matrix(Role::kWGateUp, kRequired, Shard::kRows, Dim::kGateUp, Dim::kModel, "",
           "bert.encoder.layer.{}.mlp.gated_layers.weight"),
    with_hf(kWDown, "bert.encoder.layer.{}.mlp.wo.weight"),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "bert.encoder.layer.{}.mlp.wo.bias"),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight",
         "bert.encoder.layer.{}.mlp.layernorm.weight"),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias",
         "bert.encoder.layer.{}.mlp.layernorm.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "", "bert.pooler.dense.weight"),
    bias(Role::kPoolerBias, kOptional, Dim::kModel, "", "bert.pooler.dense.bias"),
});

// Hugging Face's files have it with adapters for each task, which are not read.
constexpr auto kJinaV3Tensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, ""),
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight", ""),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", ""),
    norm(Role::kEmbedNormBias, kRequired, "token_embd_norm.bias", ""),
    with_hf(kWqkv, ""),
    bias(Role::kBqkv, kOptional, Dim::kQkv, "blk.{}.attn_qkv.bias", ""),
    with_hf(kWo, ""),
    with_hf(o_bias(kOptional), ""),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight", ""),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias", ""),
    with_hf(kWUp, ""),
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", ""),
    with_hf(kWDown, ""),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", ""),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight", ""),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias", ""),
});

constexpr HfFlag kNomicFlags[] = {
    {"prenorm", false},       {"causal", false},       {"use_rms_norm", false},  {"rotary_emb_interleaved", false},
    {"qkv_proj_bias", false}, {"mlp_fc1_bias", false}, {"parallel_block", false}};
constexpr HfNumber kNomicNumbers[] = {{"rotary_emb_fraction", 1}, {"moe_every_n_layers", 0}};

}  // namespace

const ArchSpec kNomicBert{.name = "nomic-bert",
                          .hf_classes = kNomicClasses,
                          .tensors = kNomicTensors,
                          .norm = NormKind::kLayer,
                          .norm_place = NormPlace::kOfStream,
                          .sees_later = true,
                          .hf_n_ctx = 2048,
                          .hf_flags = kNomicFlags,
                          .hf_numbers = kNomicNumbers,
                          .hf_keys = {.d_model = "n_embd",
                                      .n_layers = "n_layer",
                                      .n_heads = "n_head",
                                      .n_kv_heads = "",
                                      .d_ff = "n_inner",
                                      .n_ctx = "max_trained_positions",
                                      .norm_eps = "layer_norm_epsilon",
                                      .activation = "",
                                      .window = "",
                                      .rope_base = "rotary_emb_base",
                                      .head_dim = ""}};

const ArchSpec kJinaBertV2{
    .name = "jina-bert-v2",
    .hf_classes = kJinaClasses,
    .tensors = kJinaV2Tensors,
    .norm = NormKind::kLayer,
    .norm_place = NormPlace::kOfStream,
    .activation = Activation::kGeluErf,
    .sees_later = true,
    .alibi = 8,
    .hf_left_out = "cls.",
    .hf_keys = {.n_kv_heads = "", .norm_eps = "layer_norm_eps", .activation = "", .window = "", .head_dim = ""}};

const ArchSpec kJinaBertV3{.name = "jina-bert-v3",
                           .hf_classes = {},
                           .tensors = kJinaV3Tensors,
                           .norm = NormKind::kLayer,
                           .norm_place = NormPlace::kOfStream,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGeluErf,
                           .sees_later = true};

}  // namespace realizar
