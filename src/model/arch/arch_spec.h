// What an architecture is: data. One ArchSpec a row of the table (list.cpp); no code outside this folder asks for a
// name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "model/model_config.h"

namespace realizar {

// The part that a tensor plays. Fused ones are split at binding.
enum class Role : uint8_t {
  kEmbed,
  kPositionEmbed,
  kFinalNorm,
  kFinalNormBias,
  kHead,
  kHeadBias,
  kAttnNorm,
  kAttnNormBias,
  kAttnPostNorm,
  kWq,
  kWk,
  kWv,
  kWo,
  kBq,
  kBk,
  kBv,
  kBo,
  kWqkv,
  kBqkv,
  kQNorm,
  kKNorm,
  kFfnNorm,
  kFfnNormBias,
  kFfnPostNorm,
  kWGate,
  kWUp,
  kWGateUp,
  kWDown,
  kBUp,
  kBDown,
  kRouter,
  kExpertGate,
  kExpertUp,
  kExpertDown,
  kRopeFactors,
  kRopeShort,
  kRopeLong,
  kIgnored,
};

// A dimension by its meaning; its size follows from the config.
enum class Dim : uint8_t {
  kNone,
  kModel,
  kQ,
  kKv,
  kQkv,
  kFf,
  kGateUp,
  kVocab,
  kHead,
  kHalfRot,
  kExperts,
  kExpertFf,
  kCtx
};

enum class Need : uint8_t { kRequired, kOptional };

// "{}" in a name stands for the layer; a second "{}" for the expert, where a file keeps one matrix an expert.
struct TensorSpec {
  Role role;
  Need need;
  Shard shard;  // of a stack of experts: of each
  Dim rows;
  Dim cols;               // kNone: a vector of `rows` elements
  std::string_view gguf;  // "": not in this format
  std::string_view hf;
  std::string_view gguf_per_expert = {};
};

enum class FfnKind : uint8_t { kGated, kPlain };  // of a model without experts
enum class MoeRule : uint8_t { kNone, kIfConfigured, kAlways };

// Names of config.json's keys where families differ. "": the family has none.
struct HfKeys {
  std::string_view d_model = "hidden_size", n_layers = "num_hidden_layers", n_heads = "num_attention_heads",
                   n_kv_heads = "num_key_value_heads", d_ff = "intermediate_size", n_ctx = "max_position_embeddings",
                   norm_eps = "rms_norm_eps", activation = "hidden_act", n_experts = "num_local_experts",
                   expert_d_ff = "intermediate_size", renormalize = "",
                   attn_dims = "";  // q.k is divided by its square root
};

struct ArchSpec {
  std::string_view name;                         // GGUF's general.architecture
  std::span<const std::string_view> hf_classes;  // config.json's architectures
  std::span<const TensorSpec> tensors;
  NormKind norm = NormKind::kRms;
  NormPlace norm_place = NormPlace::kPre;
  FfnKind ffn = FfnKind::kGated;
  Activation activation = Activation::kSilu;
  bool qk_norm = false;
  bool learned_positions = false;
  bool gguf_interleaved_rope = false;  // GGUF keeps q and k rows in pairs (2i, 2i+1); Hugging Face in halves
  bool embed_scale_sqrt_d_model = false;
  bool hf_norm_plus_one = false;      // Hugging Face keeps w, the norm multiplies by 1 + w; GGUF has it folded in
  bool hf_transposed_linear = false;  // Conv1D: weights are [in, out]
  bool has_window = false;            // the file may give a sliding window
  uint32_t full_interval = 0;         // with a window, one layer in so many sees the whole context; 0: none does
  uint32_t nope_interval = 0;         // one layer in so many is without rope; 0: none
  float hf_rope_base = 10000;         // of the rotation, where config.json gives none; GGUF's is RoFormer's
  float window_rope_base = 0;         // of layers with a window, where the file gives none; 0: as in all others
  // GGUF does not tell that models of this many layers divide q.k by sqrt(d_model / n_heads), not by sqrt(head_dim).
  uint32_t gguf_layers_scaled_by_width = 0;
  std::optional<Need> softcaps = {};  // of q.k and of the logits; nothing: the family has none
  MoeRule moe = MoeRule::kNone;
  HfKeys hf_keys = {};
};

}  // namespace realizar
