// BERT and XLM-RoBERTa: encoders with learned positions and types of tokens, LayerNorm of the stream after each branch,
// plain ffns with the exact GELU; cross-encoders score a text by its first token.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHfClasses[] = {"BertModel", "BertForMaskedLM", "BertForSequenceClassification"};
constexpr std::string_view kRobertaClasses[] = {
    "XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification",
    "RobertaModel",    "RobertaForMaskedLM",    "RobertaForSequenceClassification"};

constexpr auto kTensors = std::to_array<TensorSpec>({
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
    whole(Role::kIgnored, kOptional, Dim::kNone, Dim::kNone, "", "bert.embeddings.position_ids"),
});

constexpr HfFlag kHfFlags[] = {{"is_decoder", false}};
constexpr HfKeys kHfKeys{.n_kv_heads = "", .norm_eps = "layer_norm_eps", .window = "", .head_dim = ""};

}  // namespace

const ArchSpec kBert{.name = "bert",
                     .hf_classes = kHfClasses,
                     .tensors = kTensors,
                     .norm = NormKind::kLayer,
                     .norm_place = NormPlace::kOfStream,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGeluErf,
                     .learned_positions = true,
                     .sees_later = true,
                     .hf_flags = kHfFlags,
                     .hf_left_out = "cls.",
                     .hf_keys = kHfKeys};

// Of folders: GGUF calls it by BERT's name, and has the table of positions from the first one on.
const ArchSpec kXlmRoberta{.name = "xlm-roberta",
                           .hf_classes = kRobertaClasses,
                           .tensors = kTensors,
                           .norm = NormKind::kLayer,
                           .norm_place = NormPlace::kOfStream,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGeluErf,
                           .learned_positions = true,
                           .hf_skipped_positions = 2,
                           .sees_later = true,
                           .hf_flags = kHfFlags,
                           .hf_left_out = "lm_head.",
                           .hf_keys = kHfKeys};

}  // namespace realizar
