// BERT and XLM-RoBERTa: encoders with learned positions and token types, LayerNorm of the stream after each branch and
// plain ffns with the exact GELU. Cross-encoders score a text by its first token.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBertHfClasses[] = {"BertModel", "BertForMaskedLM", "BertForSequenceClassification"};
constexpr std::string_view kRobertaClasses[] = {
    "XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification",
    "RobertaModel",    "RobertaForMaskedLM",    "RobertaForSequenceClassification"};

constexpr auto kBertTensors = joined(
    with_hf(kEmbed, "bert.embeddings.word_embeddings.weight"),
    with_hf(kPositionEmbed, "bert.embeddings.position_embeddings.weight"),
    with_hf(kTypeEmbed, "bert.embeddings.token_type_embeddings.weight"),
    with_hf(kEmbedNorm, "bert.embeddings.LayerNorm.weight"), with_hf(kEmbedNormBias, "bert.embeddings.LayerNorm.bias"),
    kGgufQkv, with_hf(kWq, "bert.encoder.layer.{}.attention.self.query.weight"),
    with_hf(kWk, "bert.encoder.layer.{}.attention.self.key.weight"),
    with_hf(kWv, "bert.encoder.layer.{}.attention.self.value.weight"),
    optional(with_hf(kBq, "bert.encoder.layer.{}.attention.self.query.bias")),
    optional(with_hf(kBk, "bert.encoder.layer.{}.attention.self.key.bias")),
    optional(with_hf(kBv, "bert.encoder.layer.{}.attention.self.value.bias")),
    with_hf(kWo, "bert.encoder.layer.{}.attention.output.dense.weight"),
    optional(with_hf(kBo, "bert.encoder.layer.{}.attention.output.dense.bias")),
    with_hf(kAttnOutNorm, "bert.encoder.layer.{}.attention.output.LayerNorm.weight"),
    with_hf(kAttnOutNormBias, "bert.encoder.layer.{}.attention.output.LayerNorm.bias"),
    with_hf(kWUp, "bert.encoder.layer.{}.intermediate.dense.weight"),
    with_hf(kUpBias, "bert.encoder.layer.{}.intermediate.dense.bias"),
    with_hf(kWDown, "bert.encoder.layer.{}.output.dense.weight"),
    with_hf(kDownBias, "bert.encoder.layer.{}.output.dense.bias"),
    with_hf(kLayerOutNorm, "bert.encoder.layer.{}.output.LayerNorm.weight"),
    with_hf(kLayerOutNormBias, "bert.encoder.layer.{}.output.LayerNorm.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "cls.weight", "bert.pooler.dense.weight"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "", "classifier.dense.weight"),
    optional(norm(Role::kPoolerBias, "cls.bias", "bert.pooler.dense.bias")),
    optional(norm(Role::kPoolerBias, "", "classifier.dense.bias")),
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.output.weight", "classifier.weight"),
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "", "classifier.out_proj.weight"),
    optional(vector(Role::kScoreBias, Dim::kLabels, "cls.output.bias", "classifier.bias")),
    optional(vector(Role::kScoreBias, Dim::kLabels, "", "classifier.out_proj.bias")),
    ignored("bert.embeddings.position_ids"));

// Jina's XLM-RoBERTa with q, k and v in one matrix, for her second reranker.
constexpr auto kFlashTensors =
    joined(with_hf(kEmbed, "roberta.embeddings.word_embeddings.weight"),
           with_hf(kPositionEmbed, "roberta.embeddings.position_embeddings.weight"),
           with_hf(kTypeEmbed, "roberta.embeddings.token_type_embeddings.weight"),
           with_hf(kEmbedNorm, "roberta.emb_ln.weight"), with_hf(kEmbedNormBias, "roberta.emb_ln.bias"),
           with_hf(kWqkv, "roberta.encoder.layers.{}.mixer.Wqkv.weight"),
           with_hf(kBqkv, "roberta.encoder.layers.{}.mixer.Wqkv.bias"),
           with_hf(kWo, "roberta.encoder.layers.{}.mixer.out_proj.weight"),
           with_hf(kBo, "roberta.encoder.layers.{}.mixer.out_proj.bias"),
           with_hf(kAttnOutNorm, "roberta.encoder.layers.{}.norm1.weight"),
           with_hf(kAttnOutNormBias, "roberta.encoder.layers.{}.norm1.bias"),
           with_hf(kWUp, "roberta.encoder.layers.{}.mlp.fc1.weight"),
           required(with_hf(kUpBias, "roberta.encoder.layers.{}.mlp.fc1.bias")),
           with_hf(kWDown, "roberta.encoder.layers.{}.mlp.fc2.weight"),
           required(with_hf(kDownBias, "roberta.encoder.layers.{}.mlp.fc2.bias")),
           with_hf(kLayerOutNorm, "roberta.encoder.layers.{}.norm2.weight"),
           with_hf(kLayerOutNormBias, "roberta.encoder.layers.{}.norm2.bias"),
           whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "cls.weight", "classifier.dense.weight"),
           optional(norm(Role::kPoolerBias, "cls.bias", "classifier.dense.bias")),
           whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.output.weight", "classifier.out_proj.weight"),
           optional(vector(Role::kScoreBias, Dim::kLabels, "cls.output.bias", "classifier.out_proj.bias")));

constexpr HfFlag kBertHfFlags[] = {{"is_decoder", false}};
constexpr HfKeys kBertHfKeys{.n_kv_heads = "", .norm_eps = "layer_norm_eps", .window = "", .head_dim = ""};

constexpr ArchSpec kBertRow{.name = "bert",
                            .hf_classes = kBertHfClasses,
                            .tensors = kBertTensors,
                            .norm = NormKind::kLayer,
                            .norm_place = NormPlace::kOfStream,
                            .ffn = FfnKind::kPlain,
                            .activation = Activation::kGeluErf,
                            .is_bidirectional = true,
                            .hf_flags = kBertHfFlags,
                            .hf_left_out = "cls.",
                            .hf_keys = kBertHfKeys};

// Only for folders: GGUF uses BERT's name, and its position table starts at the first position.
constexpr ArchSpec xlm_roberta() {
  ArchSpec spec = kBertRow;
  spec.name = "xlm-roberta";
  spec.hf_classes = kRobertaClasses;
  spec.hf_left_out = "lm_head.";
  spec.hf_keys.n_skipped_positions = 2;
  return spec;
}

constexpr ArchSpec flash_roberta() {
  ArchSpec spec = xlm_roberta();
  spec.name = "xlm-roberta-flash";
  spec.tensors = kFlashTensors;
  spec.marker = {.hf = "roberta.encoder.layers.0.mixer.Wqkv.weight"};
  return spec;
}

}  // namespace

const ArchSpec kBert = kBertRow;
const ArchSpec kXlmRoberta = xlm_roberta();
const ArchSpec kFlashRoberta = flash_roberta();

}  // namespace realizar
