// Tensors that many families share, under the names that GGUF and Hugging Face give them.
#pragma once

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

}  // namespace realizar::tensors
