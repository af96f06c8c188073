// BERT and XLM-RoBERTa: encoders with learned positions and types of tokens, LayerNorm of the stream after each branch,
// plain ffns with the exact GELU; cross-encoders score a text by its first token.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBertHfClasses[] = {"BertModel", "BertForMaskedLM", "BertForSequenceClassification"};
constexpr std::string_view kRobertaClasses[] = {
    "XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification",
    "RobertaModel",    "RobertaForMaskedLM",    "RobertaForSequenceClassification"};

constexpr auto kBertTensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, "bert.embeddings.word_embeddings.weight"),
    whole(Role::kPositionEmbed, kRequired, Dim::kCtx, Dim::kModel, "position_embd.weight",
          "bert.embeddings.position_embeddings.weight"),
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
    with_hf(o_bias(kOptional), "bert.encoder.layer.{}.attention.output.dense.bias"),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight",
         "bert.encoder.layer.{}.attention.output.LayerNorm.weight"),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias",
         "bert.encoder.layer.{}.attention.output.LayerNorm.bias"),
    with_hf(kWUp, "bert.encoder.layer.{}.intermediate.dense.weight"),
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "bert.encoder.layer.{}.intermediate.dense.bias"),
    with_hf(kWDown, "bert.encoder.layer.{}.output.dense.weight"),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "bert.encoder.layer.{}.output.dense.bias"),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight",
         "bert.encoder.layer.{}.output.LayerNorm.weight"),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias",
         "bert.encoder.layer.{}.output.LayerNorm.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "cls.weight", "bert.pooler.dense.weight"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "", "classifier.dense.weight"),
    bias(Role::kPoolerBias, kOptional, Dim::kModel, "cls.bias", "bert.pooler.dense.bias"),
    bias(Role::kPoolerBias, kOptional, Dim::kModel, "", "classifier.dense.bias"),
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.output.weight", "classifier.weight"),
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "", "classifier.out_proj.weight"),
    bias(Role::kScoreBias, kOptional, Dim::kLabels, "cls.output.bias", "classifier.bias"),
    bias(Role::kScoreBias, kOptional, Dim::kLabels, "", "classifier.out_proj.bias"),
    ignored("bert.embeddings.position_ids"),
});

// Jina's own XLM-RoBERTa, with q, k and v in one matrix, which her second reranker has.
constexpr auto kFlashTensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, "roberta.embeddings.word_embeddings.weight"),
    whole(Role::kPositionEmbed, kRequired, Dim::kCtx, Dim::kModel, "position_embd.weight",
          "roberta.embeddings.position_embeddings.weight"),
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight",
          "roberta.embeddings.token_type_embeddings.weight"),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", "roberta.emb_ln.weight"),
    norm(Role::kEmbedNormBias, kRequired, "token_embd_norm.bias", "roberta.emb_ln.bias"),
    with_hf(kWqkv, "roberta.encoder.layers.{}.mixer.Wqkv.weight"),
    bias(Role::kBqkv, kRequired, Dim::kQkv, "blk.{}.attn_qkv.bias", "roberta.encoder.layers.{}.mixer.Wqkv.bias"),
    with_hf(kWo, "roberta.encoder.layers.{}.mixer.out_proj.weight"),
    with_hf(o_bias(kRequired), "roberta.encoder.layers.{}.mixer.out_proj.bias"),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight", "roberta.encoder.layers.{}.norm1.weight"),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias", "roberta.encoder.layers.{}.norm1.bias"),
    with_hf(kWUp, "roberta.encoder.layers.{}.mlp.fc1.weight"),
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "roberta.encoder.layers.{}.mlp.fc1.bias"),
    with_hf(kWDown, "roberta.encoder.layers.{}.mlp.fc2.weight"),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "roberta.encoder.layers.{}.mlp.fc2.bias"),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight", "roberta.encoder.layers.{}.norm2.weight"),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias", "roberta.encoder.layers.{}.norm2.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "cls.weight", "classifier.dense.weight"),
    bias(Role::kPoolerBias, kOptional, Dim::kModel, "cls.bias", "classifier.dense.bias"),
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.output.weight", "classifier.out_proj.weight"),
    bias(Role::kScoreBias, kOptional, Dim::kLabels, "cls.output.bias", "classifier.out_proj.bias"),
});

constexpr HfFlag kBertHfFlags[] = {{"is_decoder", false}};
constexpr HfKeys kBertHfKeys{.n_kv_heads = "", .norm_eps = "layer_norm_eps", .window = "", .head_dim = ""};

}  // namespace

const ArchSpec kBert{.name = "bert",
                     .hf_classes = kBertHfClasses,
                     .tensors = kBertTensors,
                     .norm = NormKind::kLayer,
                     .norm_place = NormPlace::kOfStream,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGeluErf,
                     .learned_positions = true,
                     .sees_later = true,
                     .hf_flags = kBertHfFlags,
                     .hf_left_out = "cls.",
                     .hf_keys = kBertHfKeys};

// Of folders: GGUF calls it by BERT's name, and has the table of positions from the first one on.
const ArchSpec kXlmRoberta{.name = "xlm-roberta",
                           .hf_classes = kRobertaClasses,
                           .tensors = kBertTensors,
                           .norm = NormKind::kLayer,
                           .norm_place = NormPlace::kOfStream,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGeluErf,
                           .learned_positions = true,
                           .hf_skipped_positions = 2,
                           .sees_later = true,
                           .hf_flags = kBertHfFlags,
                           .hf_left_out = "lm_head.",
                           .hf_keys = kBertHfKeys};

// The same, of other names in folders.
const ArchSpec kFlashRoberta{.name = "xlm-roberta-flash",
                             .hf_classes = kRobertaClasses,
                             .tensors = kFlashTensors,
                             .norm = NormKind::kLayer,
                             .norm_place = NormPlace::kOfStream,
                             .ffn = FfnKind::kPlain,
                             .activation = Activation::kGeluErf,
                             .learned_positions = true,
                             .hf_skipped_positions = 2,
                             .sees_later = true,
                             .hf_flags = kBertHfFlags,
                             .hf_left_out = "lm_head.",
                             .hf_keys = kBertHfKeys,
                             .marker = {.hf = "roberta.encoder.layers.0.mixer.Wqkv.weight"}};

}  // namespace realizar
