// Nomic BERT: BERT with rotations instead of learned positions, fused q, k and v and a gated ffn; v2 has plain ffns,
// and experts in every second layer. Jina BERT v2 has ALiBi and a gated ffn with the exact GELU, v3 rotations and plain
// ffns.
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kNomicClasses[] = {"NomicBertModel"};
constexpr std::string_view kJinaClasses[] = {"JinaBertModel", "JinaBertForMaskedLM",
                                             "JinaBertForSequenceClassification"};
// Jina's XLM-RoBERTa under the class name of the original.
constexpr std::string_view kJinaV3Classes[] = {"XLMRobertaModel", "XLMRobertaForMaskedLM"};

constexpr auto kNomicTensors = joined(
    with_hf(kEmbed, "embeddings.word_embeddings.weight"),
    with_hf(kTypeEmbed, "embeddings.token_type_embeddings.weight"), with_hf(kEmbedNorm, "emb_ln.weight"),
    with_hf(kEmbedNormBias, "emb_ln.bias"), with_hf(kWqkv, "encoder.layers.{}.attn.Wqkv.weight"),
    with_hf(kWo, "encoder.layers.{}.attn.out_proj.weight"), with_hf(kAttnOutNorm, "encoder.layers.{}.norm1.weight"),
    with_hf(kAttnOutNormBias, "encoder.layers.{}.norm1.bias"), with_hf(kWGate, "encoder.layers.{}.mlp.fc12.weight"),
    with_hf(kWUp, "encoder.layers.{}.mlp.fc11.weight"), with_hf(kWDown, "encoder.layers.{}.mlp.fc2.weight"),
    with_hf(kLayerOutNorm, "encoder.layers.{}.norm2.weight"),
    with_hf(kLayerOutNormBias, "encoder.layers.{}.norm2.bias"));

// GGUF's converter leaves out the bias of the experts' sum.
constexpr auto kNomicMoeTensors = joined(
    with_hf(kEmbed, "embeddings.word_embeddings.weight"),
    with_hf(kTypeEmbed, "embeddings.token_type_embeddings.weight"), with_hf(kEmbedNorm, "emb_ln.weight"),
    with_hf(kEmbedNormBias, "emb_ln.bias"), with_hf(kWqkv, "encoder.layers.{}.attn.Wqkv.weight"),
    with_hf(kGgufBqkv, "encoder.layers.{}.attn.Wqkv.bias"), with_hf(kWo, "encoder.layers.{}.attn.out_proj.weight"),
    optional(with_hf(kBo, "encoder.layers.{}.attn.out_proj.bias")),
    with_hf(kAttnOutNorm, "encoder.layers.{}.norm1.weight"), with_hf(kAttnOutNormBias, "encoder.layers.{}.norm1.bias"),
    with_hf(kWUp, "encoder.layers.{}.mlp.fc1.weight"), with_hf(kUpBias, "encoder.layers.{}.mlp.fc1.bias"),
    with_hf(kWDown, "encoder.layers.{}.mlp.fc2.weight"), with_hf(kDownBias, "encoder.layers.{}.mlp.fc2.bias"),
    optional(with_hf(kRouter, "encoder.layers.{}.mlp.router.layer.weight")),
    with_hf(kExpertUp, "encoder.layers.{}.mlp.experts.mlp.w1"),
    with_hf(kExpertDown, "encoder.layers.{}.mlp.experts.mlp.w2"),
    optional(norm(Role::kExpertsBias, "", "encoder.layers.{}.mlp.experts.bias")),
    with_hf(kLayerOutNorm, "encoder.layers.{}.norm2.weight"),
    with_hf(kLayerOutNormBias, "encoder.layers.{}.norm2.bias"));

constexpr auto kJinaV2Tensors = joined(
    with_hf(kEmbed, "bert.embeddings.word_embeddings.weight"),
    with_hf(kTypeEmbed, "bert.embeddings.token_type_embeddings.weight"),
    with_hf(kEmbedNorm, "bert.embeddings.LayerNorm.weight"), with_hf(kEmbedNormBias, "bert.embeddings.LayerNorm.bias"),
    kGgufQkv, with_hf(kWq, "bert.encoder.layer.{}.attention.self.query.weight"),
    with_hf(kWk, "bert.encoder.layer.{}.attention.self.key.weight"),
    with_hf(kWv, "bert.encoder.layer.{}.attention.self.value.weight"),
    optional(with_hf(kBq, "bert.encoder.layer.{}.attention.self.query.bias")),
    optional(with_hf(kBk, "bert.encoder.layer.{}.attention.self.key.bias")),
    optional(with_hf(kBv, "bert.encoder.layer.{}.attention.self.value.bias")),
    with_hf(kWo, "bert.encoder.layer.{}.attention.output.dense.weight"),
    with_hf(kBo, "bert.encoder.layer.{}.attention.output.dense.bias"),
    with_hf(kAttnOutNorm, "bert.encoder.layer.{}.attention.output.LayerNorm.weight"),
    with_hf(kAttnOutNormBias, "bert.encoder.layer.{}.attention.output.LayerNorm.bias"),
    // Older GGUF files have gate and up apart, newer ones in one tensor named ffn_up.
    optional(gguf_only(kWGate)), optional(gguf_only(kWUp)),
    with_hf(kWGateUp, "bert.encoder.layer.{}.mlp.gated_layers.weight"),
    with_hf(kWDown, "bert.encoder.layer.{}.mlp.wo.weight"),
    required(with_hf(kDownBias, "bert.encoder.layer.{}.mlp.wo.bias")),
    with_hf(kLayerOutNorm, "bert.encoder.layer.{}.mlp.layernorm.weight"),
    with_hf(kLayerOutNormBias, "bert.encoder.layer.{}.mlp.layernorm.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "", "bert.pooler.dense.weight"),
    optional(norm(Role::kPoolerBias, "", "bert.pooler.dense.bias")),
    // Only in rerankers. GGUF's converter leaves out their pooler.
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.weight", "classifier.weight"),
    optional(vector(Role::kScoreBias, Dim::kLabels, "cls.bias", "classifier.bias")));

// Folders also have adapters for all tasks, which are left out.
constexpr auto kJinaV3Tensors =
    joined(with_hf(kEmbed, "roberta.embeddings.word_embeddings.parametrizations.weight.original"),
           with_hf(kTypeEmbed, "roberta.embeddings.token_type_embeddings.parametrizations.weight.original"),
           with_hf(kEmbedNorm, "roberta.emb_ln.weight"), with_hf(kEmbedNormBias, "roberta.emb_ln.bias"),
           with_hf(kWqkv, "roberta.encoder.layers.{}.mixer.Wqkv.parametrizations.weight.original"),
           with_hf(kGgufBqkv, "roberta.encoder.layers.{}.mixer.Wqkv.bias"),
           with_hf(kWo, "roberta.encoder.layers.{}.mixer.out_proj.parametrizations.weight.original"),
           optional(with_hf(kBo, "roberta.encoder.layers.{}.mixer.out_proj.bias")),
           with_hf(kAttnOutNorm, "roberta.encoder.layers.{}.norm1.weight"),
           with_hf(kAttnOutNormBias, "roberta.encoder.layers.{}.norm1.bias"),
           with_hf(kWUp, "roberta.encoder.layers.{}.mlp.fc1.parametrizations.weight.original"),
           with_hf(kUpBias, "roberta.encoder.layers.{}.mlp.fc1.bias"),
           with_hf(kWDown, "roberta.encoder.layers.{}.mlp.fc2.parametrizations.weight.original"),
           with_hf(kDownBias, "roberta.encoder.layers.{}.mlp.fc2.bias"),
           with_hf(kLayerOutNorm, "roberta.encoder.layers.{}.norm2.weight"),
           with_hf(kLayerOutNormBias, "roberta.encoder.layers.{}.norm2.bias"),
           whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "",
                 "roberta.pooler.dense.parametrizations.weight.original"),
           optional(norm(Role::kPoolerBias, "", "roberta.pooler.dense.bias")),
           ignored("roberta.embeddings.word_embeddings.parametrizations.weight.0.lora_A"),
           ignored("roberta.embeddings.word_embeddings.parametrizations.weight.0.lora_B"),
           ignored("roberta.embeddings.token_type_embeddings.parametrizations.weight.0.lora_A"),
           ignored("roberta.embeddings.token_type_embeddings.parametrizations.weight.0.lora_B"),
           ignored("roberta.pooler.dense.parametrizations.weight.0.lora_A"),
           ignored("roberta.pooler.dense.parametrizations.weight.0.lora_B"),
           ignored("roberta.encoder.layers.{}.mixer.Wqkv.parametrizations.weight.0.lora_A"),
           ignored("roberta.encoder.layers.{}.mixer.Wqkv.parametrizations.weight.0.lora_B"),
           ignored("roberta.encoder.layers.{}.mixer.out_proj.parametrizations.weight.0.lora_A"),
           ignored("roberta.encoder.layers.{}.mixer.out_proj.parametrizations.weight.0.lora_B"),
           ignored("roberta.encoder.layers.{}.mlp.fc1.parametrizations.weight.0.lora_A"),
           ignored("roberta.encoder.layers.{}.mlp.fc1.parametrizations.weight.0.lora_B"),
           ignored("roberta.encoder.layers.{}.mlp.fc2.parametrizations.weight.0.lora_A"),
           ignored("roberta.encoder.layers.{}.mlp.fc2.parametrizations.weight.0.lora_B"));

constexpr HfFlag kNomicFlags[] = {
    {"prenorm", false},       {"causal", false},       {"use_rms_norm", false},  {"rotary_emb_interleaved", false},
    {"qkv_proj_bias", false}, {"mlp_fc1_bias", false}, {"parallel_block", false}};
constexpr HfNumber kNomicNumbers[] = {{"rotary_emb_fraction", 1}, {"moe_every_n_layers", 0}};
constexpr HfFlag kNomicMoeFlags[] = {{"prenorm", false},        {"causal", false},
                                     {"use_rms_norm", false},   {"rotary_emb_interleaved", false},
                                     {"parallel_block", false}, {"expert_choice_router", false}};
constexpr HfNumber kNomicMoeNumbers[] = {{"rotary_emb_fraction", 1}, {"ffn_div", 1}};

constexpr HfKeys nomic_keys() {
  HfKeys keys = gpt2_keys();
  keys.n_ctx = "max_trained_positions";
  keys.activation = "";
  keys.window = "";
  keys.rope_base = "rotary_emb_base";
  keys.head_dim = "";
  keys.d_ff_factor = 0;
  return keys;
}
constexpr HfKeys nomic_moe_keys() {
  HfKeys keys = nomic_keys();
  keys.activation = "activation_function";
  keys.n_experts = "num_experts";
  keys.n_experts_used = "moe_top_k";
  keys.expert_d_ff = "n_inner";
  keys.renormalize = "moe_normalize_expert_weights";
  return keys;
}

// GGUF's converter leaves out the pooler of rerankers; llama.cpp then applies its tanh to the scores instead.
Status bound_scores(const ConfigKeys& keys, ModelConfig& c) {
  if (keys.is_gguf() && c.n_labels > 0) c.final_softcap = 1;
  return {};
}

}  // namespace

const ArchSpec kNomicBert{.name = "nomic-bert",
                          .hf_classes = kNomicClasses,
                          .tensors = kNomicTensors,
                          .norm = NormKind::kLayer,
                          .norm_place = NormPlace::kOfStream,
                          .is_bidirectional = true,
                          .hf_n_ctx = 2048,
                          .hf_flags = kNomicFlags,
                          .hf_numbers = kNomicNumbers,
                          .hf_keys = nomic_keys()};

const ArchSpec kNomicBertMoe{.name = "nomic-bert-moe",
                             .hf_classes = kNomicClasses,
                             .tensors = kNomicMoeTensors,
                             .norm = NormKind::kLayer,
                             .norm_place = NormPlace::kOfStream,
                             .ffn = FfnKind::kPlain,
                             .activation = Activation::kGeluErf,
                             .is_bidirectional = true,
                             .moe = MoeRule::kAlways,
                             .hf_n_ctx = 2048,
                             .hf_flags = kNomicMoeFlags,
                             .hf_numbers = kNomicMoeNumbers,
                             .routing = {.renormalize = false},
                             .hf_form = HfForm::kFlatExperts,
                             .hf_keys = nomic_moe_keys(),
                             .marker = {.hf = "encoder.layers.1.mlp.router.layer.weight"}};

const ArchSpec kJinaBertV2{
    .name = "jina-bert-v2",
    .hf_classes = kJinaClasses,
    .tensors = kJinaV2Tensors,
    .norm = NormKind::kLayer,
    .norm_place = NormPlace::kOfStream,
    .activation = Activation::kGeluErf,
    .is_bidirectional = true,
    .alibi = always(8),
    .hf_left_out = "cls.",
    .hf_keys = {.n_kv_heads = "", .norm_eps = "layer_norm_eps", .activation = "", .window = "", .head_dim = ""},
    .adjust = bound_scores};

const ArchSpec kJinaBertV3{.name = "jina-bert-v3",
                           .hf_classes = kJinaV3Classes,
                           .tensors = kJinaV3Tensors,
                           .norm = NormKind::kLayer,
                           .norm_place = NormPlace::kOfStream,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGeluErf,
                           .is_bidirectional = true,
                           .hf_left_out = "lm_head.",
                           .hf_keys = {.n_kv_heads = "",
                                       .norm_eps = "layer_norm_eps",
                                       .window = "",
                                       .rope_base = "rotary_emb_base",
                                       .head_dim = "",
                                       .n_skipped_positions = 2},
                           .marker = {.hf = "roberta.encoder.layers.0.mixer.Wqkv.parametrizations.weight.original"}};

}  // namespace realizar
