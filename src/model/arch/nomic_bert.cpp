// Nomic BERT: BERT with rotations instead of learned positions, fused q/k/v and a gated ffn; its v2 with plain ffns,
// and experts in every second layer. Jina's v2 with ALiBi and a gated ffn with the exact GELU, and her v3 with
// rotations and plain ffns.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kNomicClasses[] = {"NomicBertModel"};
constexpr std::string_view kJinaClasses[] = {"JinaBertModel", "JinaBertForMaskedLM",
                                             "JinaBertForSequenceClassification"};
// Jina's own XLM-RoBERTa, which has the class of another.
constexpr std::string_view kJinaV3Classes[] = {"XLMRobertaModel", "XLMRobertaForMaskedLM"};

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

// GGUF's converter leaves out the bias of what experts give together.
constexpr auto kNomicMoeTensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, "embeddings.word_embeddings.weight"),
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight",
          "embeddings.token_type_embeddings.weight"),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", "emb_ln.weight"),
    norm(Role::kEmbedNormBias, kRequired, "token_embd_norm.bias", "emb_ln.bias"),
    with_hf(kWqkv, "encoder.layers.{}.attn.Wqkv.weight"),
    bias(Role::kBqkv, kOptional, Dim::kQkv, "blk.{}.attn_qkv.bias", "encoder.layers.{}.attn.Wqkv.bias"),
    with_hf(kWo, "encoder.layers.{}.attn.out_proj.weight"),
    with_hf(o_bias(kOptional), "encoder.layers.{}.attn.out_proj.bias"),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight", "encoder.layers.{}.norm1.weight"),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias", "encoder.layers.{}.norm1.bias"),
    with_hf(kWUp, "encoder.layers.{}.mlp.fc1.weight"),
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "encoder.layers.{}.mlp.fc1.bias"),
    with_hf(kWDown, "encoder.layers.{}.mlp.fc2.weight"),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "encoder.layers.{}.mlp.fc2.bias"),
    // Layers without one have a dense ffn.
    optional(with_hf(kRouter, "encoder.layers.{}.mlp.router.layer.weight")),
    with_hf(kExpertUp, "encoder.layers.{}.mlp.experts.mlp.w1"),
    with_hf(kExpertDown, "encoder.layers.{}.mlp.experts.mlp.w2"),
    whole(Role::kExpertsBias, kOptional, Dim::kModel, Dim::kNone, "", "encoder.layers.{}.mlp.experts.bias"),
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
    // GGUF has gate and up apart in older files, and in newer ones as one that is called up.
    optional(with_hf(kWGate, "")),
    optional(with_hf(kWUp, "")),
    matrix(Role::kWGateUp, kRequired, Shard::kRows, Dim::kGateUp, Dim::kModel, "blk.{}.ffn_up.weight",
           "bert.encoder.layer.{}.mlp.gated_layers.weight"),
    with_hf(kWDown, "bert.encoder.layer.{}.mlp.wo.weight"),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "bert.encoder.layer.{}.mlp.wo.bias"),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight",
         "bert.encoder.layer.{}.mlp.layernorm.weight"),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias",
         "bert.encoder.layer.{}.mlp.layernorm.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "", "bert.pooler.dense.weight"),
    bias(Role::kPoolerBias, kOptional, Dim::kModel, "", "bert.pooler.dense.bias"),
    // Of rerankers. GGUF's converter leaves out their pooler.
    whole(Role::kScore, kOptional, Dim::kLabels, Dim::kModel, "cls.weight", "classifier.weight"),
    bias(Role::kScoreBias, kOptional, Dim::kLabels, "cls.bias", "classifier.bias"),
});

// Folders have beside each matrix the adapters of all tasks; without one of these the model is what its matrices are.
constexpr auto kJinaV3Tensors = std::to_array<TensorSpec>({
    with_hf(kEmbed, "roberta.embeddings.word_embeddings.parametrizations.weight.original"),
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight",
          "roberta.embeddings.token_type_embeddings.parametrizations.weight.original"),
    norm(Role::kEmbedNorm, kRequired, "token_embd_norm.weight", "roberta.emb_ln.weight"),
    norm(Role::kEmbedNormBias, kRequired, "token_embd_norm.bias", "roberta.emb_ln.bias"),
    with_hf(kWqkv, "roberta.encoder.layers.{}.mixer.Wqkv.parametrizations.weight.original"),
    bias(Role::kBqkv, kOptional, Dim::kQkv, "blk.{}.attn_qkv.bias", "roberta.encoder.layers.{}.mixer.Wqkv.bias"),
    with_hf(kWo, "roberta.encoder.layers.{}.mixer.out_proj.parametrizations.weight.original"),
    with_hf(o_bias(kOptional), "roberta.encoder.layers.{}.mixer.out_proj.bias"),
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight", "roberta.encoder.layers.{}.norm1.weight"),
    norm(Role::kAttnPostNormBias, kRequired, "blk.{}.attn_output_norm.bias", "roberta.encoder.layers.{}.norm1.bias"),
    with_hf(kWUp, "roberta.encoder.layers.{}.mlp.fc1.parametrizations.weight.original"),
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "roberta.encoder.layers.{}.mlp.fc1.bias"),
    with_hf(kWDown, "roberta.encoder.layers.{}.mlp.fc2.parametrizations.weight.original"),
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "roberta.encoder.layers.{}.mlp.fc2.bias"),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight", "roberta.encoder.layers.{}.norm2.weight"),
    norm(Role::kFfnPostNormBias, kRequired, "blk.{}.layer_output_norm.bias", "roberta.encoder.layers.{}.norm2.bias"),
    whole(Role::kPooler, kOptional, Dim::kModel, Dim::kModel, "",
          "roberta.pooler.dense.parametrizations.weight.original"),
    bias(Role::kPoolerBias, kOptional, Dim::kModel, "", "roberta.pooler.dense.bias"),
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
    ignored("roberta.encoder.layers.{}.mlp.fc2.parametrizations.weight.0.lora_B"),
});

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
                          .hf_keys = nomic_keys()};

const ArchSpec kNomicBertMoe{.name = "nomic-bert-moe",
                             .hf_classes = kNomicClasses,
                             .tensors = kNomicMoeTensors,
                             .norm = NormKind::kLayer,
                             .norm_place = NormPlace::kOfStream,
                             .ffn = FfnKind::kPlain,
                             .activation = Activation::kGeluErf,
                             .sees_later = true,
                             .moe = MoeRule::kAlways,
                             .hf_n_ctx = 2048,
                             .hf_flags = kNomicMoeFlags,
                             .hf_numbers = kNomicMoeNumbers,
                             .routing = {.renormalize = false},
                             .experts_by_tensors = true,
                             .hf_flat_experts = true,
                             .hf_keys = nomic_moe_keys(),
                             .marker = {.hf = "encoder.layers.1.mlp.router.layer.weight"}};

const ArchSpec kJinaBertV2{
    .name = "jina-bert-v2",
    .hf_classes = kJinaClasses,
    .tensors = kJinaV2Tensors,
    .norm = NormKind::kLayer,
    .norm_place = NormPlace::kOfStream,
    .activation = Activation::kGeluErf,
    .sees_later = true,
    .alibi = 8,
    .gguf_scores_are_tanh = true,
    .hf_left_out = "cls.",
    .hf_keys = {.n_kv_heads = "", .norm_eps = "layer_norm_eps", .activation = "", .window = "", .head_dim = ""}};

const ArchSpec kJinaBertV3{.name = "jina-bert-v3",
                           .hf_classes = kJinaV3Classes,
                           .tensors = kJinaV3Tensors,
                           .norm = NormKind::kLayer,
                           .norm_place = NormPlace::kOfStream,
                           .ffn = FfnKind::kPlain,
                           .activation = Activation::kGeluErf,
                           .hf_skipped_positions = 2,
                           .sees_later = true,
                           .hf_left_out = "lm_head.",
                           .hf_keys = {.n_kv_heads = "",
                                       .norm_eps = "layer_norm_eps",
                                       .window = "",
                                       .rope_base = "rotary_emb_base",
                                       .head_dim = ""},
                           .marker = {.hf = "roberta.encoder.layers.0.mixer.Wqkv.parametrizations.weight.original"}};

}  // namespace realizar
