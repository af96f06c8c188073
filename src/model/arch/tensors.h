// Tensors that many families share, under the names that GGUF and Hugging Face give them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/arch/arch_spec.h"

namespace realizar::tensors {

inline constexpr auto kRequired = Need::kRequired;
inline constexpr auto kOptional = Need::kOptional;

inline constexpr TensorSpec kEmbed{
    Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight", "model.embed_tokens.weight"};
// Absent: tied to the embedding.
inline constexpr TensorSpec kHead{Role::kHead, kOptional,       Shard::kRows,    Dim::kVocab,
                                  Dim::kModel, "output.weight", "lm_head.weight"};
inline constexpr TensorSpec kFinalNorm{Role::kFinalNorm,     kRequired,          Shard::kWhole, Dim::kModel, Dim::kNone,
                                       "output_norm.weight", "model.norm.weight"};
inline constexpr TensorSpec kAttnNorm{Role::kAttnNorm,
                                      kRequired,
                                      Shard::kWhole,
                                      Dim::kModel,
                                      Dim::kNone,
                                      "blk.{}.attn_norm.weight",
                                      "model.layers.{}.input_layernorm.weight"};
inline constexpr TensorSpec kFfnNorm{Role::kFfnNorm,
                                     kRequired,
                                     Shard::kWhole,
                                     Dim::kModel,
                                     Dim::kNone,
                                     "blk.{}.ffn_norm.weight",
                                     "model.layers.{}.post_attention_layernorm.weight"};
// The norm after attention of layers with norms before and after each branch. In Hugging Face's names the
// "post_attention_layernorm" is what it says; in those of layers with norms before the branches alone it stands before
// the ffn.
inline constexpr TensorSpec kSandwichAttnPostNorm{Role::kAttnPostNorm,
                                                  kRequired,
                                                  Shard::kWhole,
                                                  Dim::kModel,
                                                  Dim::kNone,
                                                  "blk.{}.post_attention_norm.weight",
                                                  "model.layers.{}.post_attention_layernorm.weight"};
inline constexpr TensorSpec kSandwichFfnNorm{Role::kFfnNorm,
                                             kRequired,
                                             Shard::kWhole,
                                             Dim::kModel,
                                             Dim::kNone,
                                             "blk.{}.ffn_norm.weight",
                                             "model.layers.{}.pre_feedforward_layernorm.weight"};
inline constexpr TensorSpec kSandwichFfnPostNorm{Role::kFfnPostNorm,
                                                 kRequired,
                                                 Shard::kWhole,
                                                 Dim::kModel,
                                                 Dim::kNone,
                                                 "blk.{}.post_ffw_norm.weight",
                                                 "model.layers.{}.post_feedforward_layernorm.weight"};
inline constexpr TensorSpec kWq{Role::kWq,
                                kRequired,
                                Shard::kRows,
                                Dim::kQ,
                                Dim::kModel,
                                "blk.{}.attn_q.weight",
                                "model.layers.{}.self_attn.q_proj.weight"};
inline constexpr TensorSpec kWk{Role::kWk,
                                kRequired,
                                Shard::kRows,
                                Dim::kKv,
                                Dim::kModel,
                                "blk.{}.attn_k.weight",
                                "model.layers.{}.self_attn.k_proj.weight"};
inline constexpr TensorSpec kWv{Role::kWv,
                                kRequired,
                                Shard::kRows,
                                Dim::kKv,
                                Dim::kModel,
                                "blk.{}.attn_v.weight",
                                "model.layers.{}.self_attn.v_proj.weight"};
inline constexpr TensorSpec kWo{Role::kWo,
                                kRequired,
                                Shard::kCols,
                                Dim::kModel,
                                Dim::kQ,
                                "blk.{}.attn_output.weight",
                                "model.layers.{}.self_attn.o_proj.weight"};
inline constexpr TensorSpec kWqkv{Role::kWqkv,
                                  kRequired,
                                  Shard::kRows,
                                  Dim::kQkv,
                                  Dim::kModel,
                                  "blk.{}.attn_qkv.weight",
                                  "model.layers.{}.self_attn.qkv_proj.weight"};

// Instead of q, k and v apart.
inline constexpr TensorSpec kGgufWqkv{
    Role::kWqkv, kOptional, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight", ""};
inline constexpr TensorSpec kGgufBqkv{
    Role::kBqkv, kOptional, Shard::kRows, Dim::kQkv, Dim::kNone, "blk.{}.attn_qkv.bias", ""};

constexpr TensorSpec matrix(Role role, Need need, Shard shard, Dim rows, Dim cols, std::string_view gguf,
                            std::string_view hf) {
  return {role, need, shard, rows, cols, gguf, hf};
}
constexpr TensorSpec norm(Role role, Need need, std::string_view gguf, std::string_view hf) {
  return {role, need, Shard::kWhole, Dim::kModel, Dim::kNone, gguf, hf};
}
// What devices do not divide among them.
constexpr TensorSpec whole(Role role, Need need, Dim rows, Dim cols, std::string_view gguf, std::string_view hf) {
  return {role, need, Shard::kWhole, rows, cols, gguf, hf};
}
// What Hugging Face's files may carry and the model does not need.
constexpr TensorSpec ignored(std::string_view hf) {
  return whole(Role::kIgnored, kOptional, Dim::kNone, Dim::kNone, "", hf);
}

// The rows of all tables, in their order.
template <size_t... kSizes>
constexpr auto joined(const std::array<TensorSpec, kSizes>&... tables) {
  std::array<TensorSpec, (kSizes + ...)> all{};
  auto to = all.begin();
  ((to = std::ranges::copy(tables, to).out), ...);
  return all;
}

// The biases of the norms that are called kFinalNorm, kAttnNorm and kFfnNorm here.
inline constexpr TensorSpec kFinalNormBias{Role::kFinalNormBias, kRequired,          Shard::kWhole,    Dim::kModel,
                                           Dim::kNone,           "output_norm.bias", "model.norm.bias"};
inline constexpr TensorSpec kAttnNormBias{Role::kAttnNormBias,
                                          kRequired,
                                          Shard::kWhole,
                                          Dim::kModel,
                                          Dim::kNone,
                                          "blk.{}.attn_norm.bias",
                                          "model.layers.{}.input_layernorm.bias"};
inline constexpr TensorSpec kFfnNormBias{Role::kFfnNormBias,
                                         kRequired,
                                         Shard::kWhole,
                                         Dim::kModel,
                                         Dim::kNone,
                                         "blk.{}.ffn_norm.bias",
                                         "model.layers.{}.post_attention_layernorm.bias"};

constexpr TensorSpec bias(Role role, Need need, Dim rows, std::string_view gguf, std::string_view hf) {
  return {role, need, Shard::kRows, rows, Dim::kNone, gguf, hf};
}
constexpr TensorSpec q_bias(Need need) {
  return bias(Role::kBq, need, Dim::kQ, "blk.{}.attn_q.bias", "model.layers.{}.self_attn.q_proj.bias");
}
constexpr TensorSpec k_bias(Need need) {
  return bias(Role::kBk, need, Dim::kKv, "blk.{}.attn_k.bias", "model.layers.{}.self_attn.k_proj.bias");
}
constexpr TensorSpec v_bias(Need need) {
  return bias(Role::kBv, need, Dim::kKv, "blk.{}.attn_v.bias", "model.layers.{}.self_attn.v_proj.bias");
}
constexpr TensorSpec o_bias(Need need) {
  return bias(Role::kBo, need, Dim::kModel, "blk.{}.attn_output.bias", "model.layers.{}.self_attn.o_proj.bias");
}

inline constexpr TensorSpec kQNorm{Role::kQNorm,
                                   kRequired,
                                   Shard::kWhole,
                                   Dim::kHead,
                                   Dim::kNone,
                                   "blk.{}.attn_q_norm.weight",
                                   "model.layers.{}.self_attn.q_norm.weight"};
inline constexpr TensorSpec kKNorm{Role::kKNorm,
                                   kRequired,
                                   Shard::kWhole,
                                   Dim::kHead,
                                   Dim::kNone,
                                   "blk.{}.attn_k_norm.weight",
                                   "model.layers.{}.self_attn.k_norm.weight"};

// A norm for each head, and one over all of them.
constexpr TensorSpec head_norm(Role role, Need need, Dim heads, std::string_view gguf, std::string_view hf) {
  return {role, need, Shard::kWhole, heads, Dim::kHead, gguf, hf};
}
inline constexpr TensorSpec kQRowNorm{Role::kQNorm,
                                      kRequired,
                                      Shard::kWhole,
                                      Dim::kQ,
                                      Dim::kNone,
                                      "blk.{}.attn_q_norm.weight",
                                      "model.layers.{}.self_attn.q_norm.weight"};
inline constexpr TensorSpec kKRowNorm{Role::kKNorm,
                                      kRequired,
                                      Shard::kWhole,
                                      Dim::kKv,
                                      Dim::kNone,
                                      "blk.{}.attn_k_norm.weight",
                                      "model.layers.{}.self_attn.k_norm.weight"};

inline constexpr TensorSpec kWGate{Role::kWGate,
                                   kRequired,
                                   Shard::kRows,
                                   Dim::kFf,
                                   Dim::kModel,
                                   "blk.{}.ffn_gate.weight",
                                   "model.layers.{}.mlp.gate_proj.weight"};
inline constexpr TensorSpec kWUp{Role::kWUp,
                                 kRequired,
                                 Shard::kRows,
                                 Dim::kFf,
                                 Dim::kModel,
                                 "blk.{}.ffn_up.weight",
                                 "model.layers.{}.mlp.up_proj.weight"};
inline constexpr TensorSpec kWDown{Role::kWDown,
                                   kRequired,
                                   Shard::kCols,
                                   Dim::kModel,
                                   Dim::kFf,
                                   "blk.{}.ffn_down.weight",
                                   "model.layers.{}.mlp.down_proj.weight"};

// Of gated ffns, in models that have them.
inline constexpr TensorSpec kGateBias =
    bias(Role::kBGate, kOptional, Dim::kFf, "blk.{}.ffn_gate.bias", "model.layers.{}.mlp.gate_proj.bias");
inline constexpr TensorSpec kUpBias =
    bias(Role::kBUp, kOptional, Dim::kFf, "blk.{}.ffn_up.bias", "model.layers.{}.mlp.up_proj.bias");
inline constexpr TensorSpec kDownBias =
    bias(Role::kBDown, kOptional, Dim::kModel, "blk.{}.ffn_down.bias", "model.layers.{}.mlp.down_proj.bias");

// Experts under the names that most families share.
inline constexpr TensorSpec kRouter{Role::kRouter,
                                    kRequired,
                                    Shard::kWhole,
                                    Dim::kExperts,
                                    Dim::kModel,
                                    "blk.{}.ffn_gate_inp.weight",
                                    "model.layers.{}.mlp.gate.weight"};
inline constexpr TensorSpec kExpertGate{Role::kExpertGate,
                                        kRequired,
                                        Shard::kRows,
                                        Dim::kExpertFf,
                                        Dim::kModel,
                                        "blk.{}.ffn_gate_exps.weight",
                                        "model.layers.{}.mlp.experts.{}.gate_proj.weight"};
inline constexpr TensorSpec kExpertUp{Role::kExpertUp,
                                      kRequired,
                                      Shard::kRows,
                                      Dim::kExpertFf,
                                      Dim::kModel,
                                      "blk.{}.ffn_up_exps.weight",
                                      "model.layers.{}.mlp.experts.{}.up_proj.weight"};
inline constexpr TensorSpec kExpertDown{Role::kExpertDown,
                                        kRequired,
                                        Shard::kCols,
                                        Dim::kModel,
                                        Dim::kExpertFf,
                                        "blk.{}.ffn_down_exps.weight",
                                        "model.layers.{}.mlp.experts.{}.down_proj.weight"};
constexpr TensorSpec shared_expert(Role role, std::string_view gguf, std::string_view hf) {
  const bool is_down = role == Role::kSharedDown;
  return {role,
          kRequired,
          is_down ? Shard::kCols : Shard::kRows,
          is_down ? Dim::kModel : Dim::kSharedFf,
          is_down ? Dim::kSharedFf : Dim::kModel,
          gguf,
          hf};
}

// The shared experts' under DeepSeek's names, and what experts are chosen by besides their scores.
inline constexpr TensorSpec kSharedGate = shared_expert(Role::kSharedGate, "blk.{}.ffn_gate_shexp.weight",
                                                        "model.layers.{}.mlp.shared_experts.gate_proj.weight");
inline constexpr TensorSpec kSharedUp =
    shared_expert(Role::kSharedUp, "blk.{}.ffn_up_shexp.weight", "model.layers.{}.mlp.shared_experts.up_proj.weight");
inline constexpr TensorSpec kSharedDown = shared_expert(Role::kSharedDown, "blk.{}.ffn_down_shexp.weight",
                                                        "model.layers.{}.mlp.shared_experts.down_proj.weight");
constexpr TensorSpec choice_bias(Need need, std::string_view hf) {
  return {Role::kChoiceBias, need, Shard::kWhole, Dim::kExperts, Dim::kNone, "blk.{}.exp_probs_b.bias", hf};
}
inline constexpr std::string_view kHfChoiceBias = "model.layers.{}.mlp.gate.e_score_correction_bias";

// Gate and up of all experts in one stack.
constexpr TensorSpec fused_experts(std::string_view hf) {
  return {Role::kExpertGateUp, kRequired, Shard::kRows, Dim::kExpertGateUp, Dim::kModel, "", hf};
}

// A tensor under another name in Hugging Face's files.
constexpr TensorSpec with_hf(TensorSpec tensor, std::string_view hf) {
  tensor.hf = hf;
  return tensor;
}
constexpr TensorSpec with_gguf(TensorSpec tensor, std::string_view gguf) {
  tensor.gguf = gguf;
  return tensor;
}
constexpr TensorSpec optional(TensorSpec tensor) {
  tensor.need = kOptional;
  return tensor;
}

// The layers' own table of Gemma 3n and 4, what is made of the embedding beside it, and what takes both into a layer.
inline constexpr TensorSpec kLayerTable =
    matrix(Role::kLayerTable, kRequired, Shard::kRows, Dim::kLayerVocab, Dim::kLayerInputs,
           "per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight");
inline constexpr TensorSpec kLayerTableProj =
    matrix(Role::kLayerTableProj, kRequired, Shard::kRows, Dim::kLayerInputs, Dim::kModel,
           "per_layer_model_proj.weight", "model.per_layer_model_projection.weight");
inline constexpr TensorSpec kLayerTableNorm =
    whole(Role::kLayerTableNorm, kRequired, Dim::kLayerInput, Dim::kNone, "per_layer_proj_norm.weight",
          "model.per_layer_projection_norm.weight");
inline constexpr TensorSpec kInputGate =
    matrix(Role::kInputGate, kRequired, Shard::kRows, Dim::kLayerInput, Dim::kModel, "blk.{}.inp_gate.weight",
           "model.layers.{}.per_layer_input_gate.weight");
inline constexpr TensorSpec kInputProj =
    matrix(Role::kInputProj, kRequired, Shard::kCols, Dim::kModel, Dim::kLayerInput, "blk.{}.proj.weight",
           "model.layers.{}.per_layer_projection.weight");
inline constexpr TensorSpec kInputNorm =
    norm(Role::kInputNorm, kRequired, "blk.{}.post_norm.weight", "model.layers.{}.post_per_layer_input_norm.weight");

// Mamba 2 as a mixer among others.
inline constexpr TensorSpec kMamba2In = whole(Role::kSsmIn, kRequired, Dim::kSsmIn, Dim::kModel, "blk.{}.ssm_in.weight",
                                              "model.layers.{}.mamba.in_proj.weight");
inline constexpr TensorSpec kMamba2Conv = whole(Role::kSsmConv, kRequired, Dim::kSsmConv, Dim::kTaps,
                                                "blk.{}.ssm_conv1d.weight", "model.layers.{}.mamba.conv1d.weight");
inline constexpr TensorSpec kMamba2ConvBias = whole(Role::kSsmConvBias, kOptional, Dim::kSsmConv, Dim::kNone,
                                                    "blk.{}.ssm_conv1d.bias", "model.layers.{}.mamba.conv1d.bias");
inline constexpr TensorSpec kMamba2DtBias = whole(Role::kSsmDtBias, kRequired, Dim::kSsmHeads, Dim::kNone,
                                                  "blk.{}.ssm_dt.bias", "model.layers.{}.mamba.dt_bias");
inline constexpr TensorSpec kMamba2A =
    whole(Role::kSsmA, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_a", "model.layers.{}.mamba.A_log");
inline constexpr TensorSpec kMamba2D =
    whole(Role::kSsmD, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_d", "model.layers.{}.mamba.D");
inline constexpr TensorSpec kMamba2Norm =
    whole(Role::kSsmNorm, kRequired, Dim::kSsmGroups, Dim::kSsmGroup, "blk.{}.ssm_norm.weight", "");
inline constexpr TensorSpec kHfMamba2Norm =
    whole(Role::kSsmNorm, kRequired, Dim::kSsmInner, Dim::kNone, "", "model.layers.{}.mamba.norm.weight");
inline constexpr TensorSpec kMamba2Out = whole(Role::kSsmOut, kRequired, Dim::kModel, Dim::kSsmInner,
                                               "blk.{}.ssm_out.weight", "model.layers.{}.mamba.out_proj.weight");

// What a file may carry and the program computes itself, or what llama.cpp and transformers keep as buffers.
inline constexpr TensorSpec kRopeFactors{Role::kRopeFactors,  kOptional, Shard::kWhole, Dim::kHalfRot, Dim::kNone,
                                         "rope_freqs.weight", ""};
inline constexpr TensorSpec kInvFreqBuffer{Role::kIgnored,
                                           kOptional,
                                           Shard::kWhole,
                                           Dim::kNone,
                                           Dim::kNone,
                                           "",
                                           "model.layers.{}.self_attn.rotary_emb.inv_freq"};

// The names in GPT-2's config.json, which many models of others have taken over.
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
