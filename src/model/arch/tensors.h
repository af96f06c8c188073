// Tensors that many families share, with their names in GGUF and Hugging Face, and lists of them, which a family's
// table joins with its own tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/arch/arch_spec.h"

namespace realizar::tensors {

inline constexpr auto kRequired = Need::kRequired;
inline constexpr auto kOptional = Need::kOptional;

// Matrices whose rows or columns are divided among devices.
constexpr TensorSpec by_rows(Role role, Dim rows, Dim cols, std::string_view gguf, std::string_view hf) {
  return {role, kRequired, Shard::kRows, rows, cols, gguf, hf};
}
constexpr TensorSpec by_cols(Role role, Dim rows, Dim cols, std::string_view gguf, std::string_view hf) {
  return {role, kRequired, Shard::kCols, rows, cols, gguf, hf};
}
// Tensors that each device has whole.
constexpr TensorSpec whole(Role role, Need need, Dim rows, Dim cols, std::string_view gguf, std::string_view hf) {
  return {role, need, Shard::kWhole, rows, cols, gguf, hf};
}
constexpr TensorSpec vector(Role role, Dim rows, std::string_view gguf, std::string_view hf) {
  return {role, kRequired, Shard::kWhole, rows, Dim::kNone, gguf, hf};
}
constexpr TensorSpec norm(Role role, std::string_view gguf, std::string_view hf) {
  return vector(role, Dim::kModel, gguf, hf);
}
// Tensors that folders may have and the model does not need.
constexpr TensorSpec ignored(std::string_view hf) {
  return whole(Role::kIgnored, kOptional, Dim::kNone, Dim::kNone, "", hf);
}

// A tensor under other names, or in only one format.
constexpr TensorSpec with_hf(TensorSpec tensor, std::string_view hf) {
  tensor.hf = hf;
  return tensor;
}
constexpr TensorSpec with_gguf(TensorSpec tensor, std::string_view gguf) {
  tensor.gguf = gguf;
  return tensor;
}
constexpr TensorSpec gguf_only(const TensorSpec& tensor) {
  return with_hf(tensor, "");
}
constexpr TensorSpec hf_only(const TensorSpec& tensor, std::string_view hf) {
  return with_gguf(with_hf(tensor, hf), "");
}
constexpr TensorSpec optional(TensorSpec tensor) {
  tensor.need = kOptional;
  return tensor;
}
constexpr TensorSpec required(TensorSpec tensor) {
  tensor.need = kRequired;
  return tensor;
}

template <size_t kSize>
using List = std::array<TensorSpec, kSize>;

template <size_t kSize>
constexpr List<kSize> optional(List<kSize> tensors) {
  for (TensorSpec& tensor : tensors) tensor.need = kOptional;
  return tensors;
}
template <size_t kSize>
constexpr List<kSize> gguf_only(List<kSize> tensors) {
  for (TensorSpec& tensor : tensors) tensor.hf = "";
  return tensors;
}

constexpr List<1> as_list(const TensorSpec& tensor) {
  return {tensor};
}
template <size_t kSize>
constexpr const List<kSize>& as_list(const List<kSize>& tensors) {
  return tensors;
}
template <size_t... kSizes>
constexpr auto joined_lists(const List<kSizes>&... lists) {
  List<(kSizes + ...)> all{};
  auto to = all.begin();
  ((to = std::ranges::copy(lists, to).out), ...);
  return all;
}
// The tensors of all parts in order; a part is a tensor or a list.
template <class... Parts>
constexpr auto joined(const Parts&... parts) {
  return joined_lists(as_list(parts)...);
}

inline constexpr TensorSpec kEmbed =
    by_rows(Role::kEmbed, Dim::kVocab, Dim::kModel, "token_embd.weight", "model.embed_tokens.weight");
// If it is absent, the embedding is the head.
inline constexpr TensorSpec kHead =
    optional(by_rows(Role::kHead, Dim::kVocab, Dim::kModel, "output.weight", "lm_head.weight"));
inline constexpr TensorSpec kHeadBias = optional(vector(Role::kHeadBias, Dim::kVocab, "output.bias", "lm_head.bias"));
inline constexpr TensorSpec kFinalNorm = norm(Role::kFinalNorm, "output_norm.weight", "model.norm.weight");
inline constexpr TensorSpec kFinalNormBias = norm(Role::kFinalNormBias, "output_norm.bias", "model.norm.bias");
inline constexpr TensorSpec kPositionEmbed =
    whole(Role::kPositionEmbed, kRequired, Dim::kCtx, Dim::kModel, "position_embd.weight", "");
inline constexpr TensorSpec kTypeEmbed =
    whole(Role::kTypeEmbed, kOptional, Dim::kTypes, Dim::kModel, "token_types.weight", "");
inline constexpr TensorSpec kEmbedNorm = norm(Role::kEmbedNorm, "token_embd_norm.weight", "");
inline constexpr TensorSpec kEmbedNormBias = norm(Role::kEmbedNormBias, "token_embd_norm.bias", "");
inline constexpr auto kEnds = joined(kEmbed, kHead, kFinalNorm);

inline constexpr TensorSpec kAttnNorm =
    norm(Role::kAttnNorm, "blk.{}.attn_norm.weight", "model.layers.{}.input_layernorm.weight");
inline constexpr TensorSpec kAttnNormBias =
    norm(Role::kAttnNormBias, "blk.{}.attn_norm.bias", "model.layers.{}.input_layernorm.bias");
inline constexpr TensorSpec kFfnNorm =
    norm(Role::kFfnNorm, "blk.{}.ffn_norm.weight", "model.layers.{}.post_attention_layernorm.weight");
inline constexpr TensorSpec kFfnNormBias =
    norm(Role::kFfnNormBias, "blk.{}.ffn_norm.bias", "model.layers.{}.post_attention_layernorm.bias");
// Norms of layers with norms before and after each branch. There Hugging Face's "post_attention_layernorm" follows
// attention; in layers with norms only before the branches it precedes the ffn.
inline constexpr TensorSpec kSandwichAttnPostNorm =
    norm(Role::kAttnPostNorm, "blk.{}.post_attention_norm.weight", "model.layers.{}.post_attention_layernorm.weight");
inline constexpr TensorSpec kSandwichFfnNorm =
    norm(Role::kFfnNorm, "blk.{}.ffn_norm.weight", "model.layers.{}.pre_feedforward_layernorm.weight");
inline constexpr TensorSpec kSandwichFfnPostNorm =
    norm(Role::kFfnPostNorm, "blk.{}.post_ffw_norm.weight", "model.layers.{}.post_feedforward_layernorm.weight");
// Norms after the branches of encoders, and of Grok.
inline constexpr TensorSpec kAttnOutNorm = norm(Role::kAttnPostNorm, "blk.{}.attn_output_norm.weight", "");
inline constexpr TensorSpec kAttnOutNormBias = norm(Role::kAttnPostNormBias, "blk.{}.attn_output_norm.bias", "");
inline constexpr TensorSpec kLayerOutNorm = norm(Role::kFfnPostNorm, "blk.{}.layer_output_norm.weight", "");
inline constexpr TensorSpec kLayerOutNormBias = norm(Role::kFfnPostNormBias, "blk.{}.layer_output_norm.bias", "");

inline constexpr TensorSpec kWq =
    by_rows(Role::kWq, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight", "model.layers.{}.self_attn.q_proj.weight");
inline constexpr TensorSpec kWk =
    by_rows(Role::kWk, Dim::kKv, Dim::kModel, "blk.{}.attn_k.weight", "model.layers.{}.self_attn.k_proj.weight");
inline constexpr TensorSpec kWv =
    by_rows(Role::kWv, Dim::kKv, Dim::kModel, "blk.{}.attn_v.weight", "model.layers.{}.self_attn.v_proj.weight");
inline constexpr TensorSpec kWo =
    by_cols(Role::kWo, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight", "model.layers.{}.self_attn.o_proj.weight");
inline constexpr TensorSpec kWqkv =
    by_rows(Role::kWqkv, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight", "model.layers.{}.self_attn.qkv_proj.weight");
inline constexpr TensorSpec kBq =
    vector(Role::kBq, Dim::kQ, "blk.{}.attn_q.bias", "model.layers.{}.self_attn.q_proj.bias");
inline constexpr TensorSpec kBk =
    vector(Role::kBk, Dim::kKv, "blk.{}.attn_k.bias", "model.layers.{}.self_attn.k_proj.bias");
inline constexpr TensorSpec kBv =
    vector(Role::kBv, Dim::kKv, "blk.{}.attn_v.bias", "model.layers.{}.self_attn.v_proj.bias");
inline constexpr TensorSpec kBo =
    vector(Role::kBo, Dim::kModel, "blk.{}.attn_output.bias", "model.layers.{}.self_attn.o_proj.bias");
inline constexpr TensorSpec kBqkv =
    vector(Role::kBqkv, Dim::kQkv, "blk.{}.attn_qkv.bias", "model.layers.{}.self_attn.qkv_proj.bias");
inline constexpr TensorSpec kQNorm =
    vector(Role::kQNorm, Dim::kHead, "blk.{}.attn_q_norm.weight", "model.layers.{}.self_attn.q_norm.weight");
inline constexpr TensorSpec kKNorm =
    vector(Role::kKNorm, Dim::kHead, "blk.{}.attn_k_norm.weight", "model.layers.{}.self_attn.k_norm.weight");
// One norm for each head, and one over all heads.
constexpr TensorSpec head_norm(Role role, Dim heads, std::string_view gguf, std::string_view hf) {
  return whole(role, kOptional, heads, Dim::kHead, gguf, hf);
}
inline constexpr TensorSpec kQRowNorm =
    vector(Role::kQNorm, Dim::kQ, "blk.{}.attn_q_norm.weight", "model.layers.{}.self_attn.q_norm.weight");
inline constexpr TensorSpec kKRowNorm =
    vector(Role::kKNorm, Dim::kKv, "blk.{}.attn_k_norm.weight", "model.layers.{}.self_attn.k_norm.weight");
inline constexpr auto kQkvo = joined(kWq, kWk, kWv, kWo);
inline constexpr auto kAttention = joined(kAttnNorm, kQkvo);
inline constexpr auto kQkvBiases = joined(kBq, kBk, kBv);
inline constexpr auto kQkNorms = joined(kQNorm, kKNorm);
inline constexpr auto kQkRowNorms = joined(kQRowNorm, kKRowNorm);
// GGUF may have q, k and v fused.
inline constexpr TensorSpec kGgufWqkv = optional(gguf_only(kWqkv));
inline constexpr TensorSpec kGgufBqkv = optional(gguf_only(kBqkv));
inline constexpr auto kGgufQkv = joined(kGgufWqkv, kGgufBqkv);

inline constexpr TensorSpec kWGate =
    by_rows(Role::kWGate, Dim::kFf, Dim::kModel, "blk.{}.ffn_gate.weight", "model.layers.{}.mlp.gate_proj.weight");
inline constexpr TensorSpec kWUp =
    by_rows(Role::kWUp, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight", "model.layers.{}.mlp.up_proj.weight");
inline constexpr TensorSpec kWDown =
    by_cols(Role::kWDown, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight", "model.layers.{}.mlp.down_proj.weight");
inline constexpr TensorSpec kWGateUp = by_rows(Role::kWGateUp, Dim::kGateUp, Dim::kModel, "blk.{}.ffn_up.weight",
                                               "model.layers.{}.mlp.gate_up_proj.weight");
inline constexpr TensorSpec kGateBias =
    optional(vector(Role::kBGate, Dim::kFf, "blk.{}.ffn_gate.bias", "model.layers.{}.mlp.gate_proj.bias"));
inline constexpr TensorSpec kUpBias =
    optional(vector(Role::kBUp, Dim::kFf, "blk.{}.ffn_up.bias", "model.layers.{}.mlp.up_proj.bias"));
inline constexpr TensorSpec kDownBias =
    optional(vector(Role::kBDown, Dim::kModel, "blk.{}.ffn_down.bias", "model.layers.{}.mlp.down_proj.bias"));
inline constexpr auto kPlain = joined(kWUp, kWDown);
inline constexpr auto kGated = joined(kWGate, kPlain);
inline constexpr auto kGatedBiases = joined(kGateBias, kUpBias, kDownBias);

inline constexpr TensorSpec kRouter = whole(Role::kRouter, kRequired, Dim::kExperts, Dim::kModel,
                                            "blk.{}.ffn_gate_inp.weight", "model.layers.{}.mlp.gate.weight");
inline constexpr TensorSpec kExpertGate =
    by_rows(Role::kExpertGate, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_gate_exps.weight",
            "model.layers.{}.mlp.experts.{}.gate_proj.weight");
inline constexpr TensorSpec kExpertUp =
    by_rows(Role::kExpertUp, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_up_exps.weight",
            "model.layers.{}.mlp.experts.{}.up_proj.weight");
inline constexpr TensorSpec kExpertDown =
    by_cols(Role::kExpertDown, Dim::kModel, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight",
            "model.layers.{}.mlp.experts.{}.down_proj.weight");
inline constexpr auto kExperts = joined(kExpertGate, kExpertUp, kExpertDown);
// Router and experts under Mixtral's names.
inline constexpr TensorSpec kMixtralRouter = with_hf(kRouter, "model.layers.{}.block_sparse_moe.gate.weight");
inline constexpr auto kMixtralExperts =
    joined(with_hf(kExpertGate, "model.layers.{}.block_sparse_moe.experts.{}.w1.weight"),
           with_hf(kExpertUp, "model.layers.{}.block_sparse_moe.experts.{}.w3.weight"),
           with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.experts.{}.w2.weight"));
// Gate and up of all experts in one stack.
constexpr TensorSpec fused_experts(std::string_view hf) {
  return by_rows(Role::kExpertGateUp, Dim::kExpertGateUp, Dim::kModel, "", hf);
}
// Added to the scores when experts are chosen.
inline constexpr TensorSpec kChoiceBias = vector(Role::kChoiceBias, Dim::kExperts, "blk.{}.exp_probs_b.bias",
                                                 "model.layers.{}.mlp.gate.e_score_correction_bias");
// Shared experts under DeepSeek's names.
constexpr TensorSpec shared_expert(Role role, std::string_view gguf, std::string_view hf) {
  return role == Role::kSharedDown ? by_cols(role, Dim::kModel, Dim::kSharedFf, gguf, hf)
                                   : by_rows(role, Dim::kSharedFf, Dim::kModel, gguf, hf);
}
inline constexpr TensorSpec kSharedGate = shared_expert(Role::kSharedGate, "blk.{}.ffn_gate_shexp.weight",
                                                        "model.layers.{}.mlp.shared_experts.gate_proj.weight");
inline constexpr TensorSpec kSharedUp =
    shared_expert(Role::kSharedUp, "blk.{}.ffn_up_shexp.weight", "model.layers.{}.mlp.shared_experts.up_proj.weight");
inline constexpr TensorSpec kSharedDown = shared_expert(Role::kSharedDown, "blk.{}.ffn_down_shexp.weight",
                                                        "model.layers.{}.mlp.shared_experts.down_proj.weight");
inline constexpr auto kShared = joined(kSharedGate, kSharedUp, kSharedDown);
// The shared expert under Qwen's names, with the gate of its output.
inline constexpr auto kQwenShared =
    joined(whole(Role::kSharedRouter, kRequired, Dim::kNone, Dim::kModel, "blk.{}.ffn_gate_inp_shexp.weight",
                 "model.layers.{}.mlp.shared_expert_gate.weight"),
           with_hf(kSharedGate, "model.layers.{}.mlp.shared_expert.gate_proj.weight"),
           with_hf(kSharedUp, "model.layers.{}.mlp.shared_expert.up_proj.weight"),
           with_hf(kSharedDown, "model.layers.{}.mlp.shared_expert.down_proj.weight"));

// Multi-head latent attention. Each device has it whole, since all heads read the same latents.
inline constexpr TensorSpec kLatentWq = whole(Role::kWq, kRequired, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight",
                                              "model.layers.{}.self_attn.q_proj.weight");
inline constexpr TensorSpec kWqA = whole(Role::kWqA, kRequired, Dim::kQRank, Dim::kModel, "blk.{}.attn_q_a.weight",
                                         "model.layers.{}.self_attn.q_a_proj.weight");
inline constexpr TensorSpec kWqANorm =
    vector(Role::kQNorm, Dim::kQRank, "blk.{}.attn_q_a_norm.weight", "model.layers.{}.self_attn.q_a_layernorm.weight");
inline constexpr TensorSpec kWqB = whole(Role::kWqB, kRequired, Dim::kQ, Dim::kQRank, "blk.{}.attn_q_b.weight",
                                         "model.layers.{}.self_attn.q_b_proj.weight");
inline constexpr TensorSpec kWLatent =
    whole(Role::kWLatent, kRequired, Dim::kLatentKey, Dim::kModel, "blk.{}.attn_kv_a_mqa.weight",
          "model.layers.{}.self_attn.kv_a_proj_with_mqa.weight");
inline constexpr TensorSpec kLatentNorm = vector(Role::kLatentNorm, Dim::kLatent, "blk.{}.attn_kv_a_norm.weight",
                                                 "model.layers.{}.self_attn.kv_a_layernorm.weight");
inline constexpr TensorSpec kLatentKv = whole(Role::kLatentKv, kRequired, Dim::kLatentKv, Dim::kLatent,
                                              "blk.{}.attn_kv_b.weight", "model.layers.{}.self_attn.kv_b_proj.weight");
inline constexpr TensorSpec kLatentWo = whole(Role::kWo, kRequired, Dim::kModel, Dim::kAttended,
                                              "blk.{}.attn_output.weight", "model.layers.{}.self_attn.o_proj.weight");
// GGUF may have one stack each for keys and values.
inline constexpr auto kLatentKAndV = joined(
    optional(kLatentKv), whole(Role::kLatentK, kRequired, Dim::kLatent, Dim::kNope, "blk.{}.attn_k_b.weight", ""),
    whole(Role::kLatentV, kRequired, Dim::kValue, Dim::kLatent, "blk.{}.attn_v_b.weight", ""));

// Per-layer embeddings (Gemma 3n and 4): the table, the embedding's projection, and each layer's input projections.
inline constexpr auto kLayerTables =
    joined(by_rows(Role::kLayerTable, Dim::kLayerVocab, Dim::kLayerInputs, "per_layer_token_embd.weight",
                   "model.embed_tokens_per_layer.weight"),
           by_rows(Role::kLayerTableProj, Dim::kLayerInputs, Dim::kModel, "per_layer_model_proj.weight",
                   "model.per_layer_model_projection.weight"),
           vector(Role::kLayerTableNorm, Dim::kLayerInput, "per_layer_proj_norm.weight",
                  "model.per_layer_projection_norm.weight"));
inline constexpr auto kLayerInputs =
    joined(by_rows(Role::kInputGate, Dim::kLayerInput, Dim::kModel, "blk.{}.inp_gate.weight",
                   "model.layers.{}.per_layer_input_gate.weight"),
           by_cols(Role::kInputProj, Dim::kModel, Dim::kLayerInput, "blk.{}.proj.weight",
                   "model.layers.{}.per_layer_projection.weight"),
           norm(Role::kInputNorm, "blk.{}.post_norm.weight", "model.layers.{}.post_per_layer_input_norm.weight"));

// Mamba 2 as a mixer among others.
inline constexpr TensorSpec kMamba2In = whole(Role::kSsmIn, kRequired, Dim::kSsmIn, Dim::kModel, "blk.{}.ssm_in.weight",
                                              "model.layers.{}.mamba.in_proj.weight");
inline constexpr TensorSpec kMamba2Conv = whole(Role::kSsmConv, kRequired, Dim::kSsmConv, Dim::kTaps,
                                                "blk.{}.ssm_conv1d.weight", "model.layers.{}.mamba.conv1d.weight");
inline constexpr TensorSpec kMamba2ConvBias =
    optional(vector(Role::kSsmConvBias, Dim::kSsmConv, "blk.{}.ssm_conv1d.bias", "model.layers.{}.mamba.conv1d.bias"));
inline constexpr TensorSpec kMamba2DtBias =
    vector(Role::kSsmDtBias, Dim::kSsmHeads, "blk.{}.ssm_dt.bias", "model.layers.{}.mamba.dt_bias");
inline constexpr TensorSpec kMamba2A =
    whole(Role::kSsmA, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_a", "model.layers.{}.mamba.A_log");
inline constexpr TensorSpec kMamba2D =
    whole(Role::kSsmD, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_d", "model.layers.{}.mamba.D");
inline constexpr TensorSpec kMamba2Norm =
    whole(Role::kSsmNorm, kRequired, Dim::kSsmGroups, Dim::kSsmGroup, "blk.{}.ssm_norm.weight", "");
inline constexpr TensorSpec kHfMamba2Norm =
    vector(Role::kSsmNorm, Dim::kSsmInner, "", "model.layers.{}.mamba.norm.weight");
inline constexpr TensorSpec kMamba2Out = whole(Role::kSsmOut, kRequired, Dim::kModel, Dim::kSsmInner,
                                               "blk.{}.ssm_out.weight", "model.layers.{}.mamba.out_proj.weight");
inline constexpr auto kMamba2Parts = joined(kMamba2In, kMamba2Conv, kMamba2ConvBias, kMamba2DtBias, kMamba2A, kMamba2D);
inline constexpr auto kMamba2Mixer = joined(kMamba2Parts, kMamba2Norm, kHfMamba2Norm, kMamba2Out);

// Factors of the rotation, and a buffer of transformers.
inline constexpr TensorSpec kRopeFactors = optional(vector(Role::kRopeFactors, Dim::kHalfRot, "rope_freqs.weight", ""));
inline constexpr auto kLongRopeFactors =
    optional(joined(vector(Role::kRopeShort, Dim::kHalfRot, "rope_factors_short.weight", ""),
                    vector(Role::kRopeLong, Dim::kHalfRot, "rope_factors_long.weight", "")));
inline constexpr TensorSpec kInvFreqBuffer = ignored("model.layers.{}.self_attn.rotary_emb.inv_freq");

// Names of GPT-2's config.json, which many other models use.
constexpr HfKeys gpt2_keys() {
  return {.d_model = "n_embd",
          .n_layers = "n_layer",
          .n_heads = "n_head",
          .n_kv_heads = "",
          .d_ff = "n_inner",
          .n_ctx = "n_positions",
          .norm_eps = "layer_norm_epsilon",
          .activation = "activation_function",
          .d_ff_factor = 4};
}

}  // namespace realizar::tensors
