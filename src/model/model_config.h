// A model's dimensions and traits, validated. Immutable and printable; knows neither file nor device. Everything in
// which decoders differ is a value here: the decoder has no other branch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "realizar/types.h"

namespace realizar {

enum class MixerKind : uint8_t { kAttention };
enum class FfnKind : uint8_t { kGated, kPlain, kExperts };
// Where norms stand in a layer: before each branch (Llama); before and after it (Gemma 2); one norm feeding attention
// and ffn, which are added to the residual together (Phi-2).
enum class NormPlace : uint8_t { kPre, kSandwich, kParallel };

struct LayerConfig {
  MixerKind mixer = MixerKind::kAttention;
  FfnKind ffn = FfnKind::kGated;
  bool rope = true;     // false: no position encoding in this layer (NoPE)
  uint32_t window = 0;  // sliding window in positions; 0: the whole context
};

struct RopeConfig {
  uint32_t n_rot = 0;           // dimensions of a head that turn
  bool interleaved = false;     // pairs (2i, 2i+1) in the file; folded into the rows' order at binding
  std::vector<float> inv_freq;  // [n_rot / 2], every scaling rule folded in
  float scale = 1.0f;           // YaRN's and LongRoPE's attention factor on q and k
};

struct MoeConfig {
  uint32_t n_experts = 0;
  uint32_t n_used = 0;
  uint32_t d_ff = 0;  // of one expert
  bool renormalize = true;
  float scale = 1.0f;
};

struct ModelConfig {
  std::string arch;  // GGUF's general.architecture, e.g. "qwen2"
  std::string name;  // what the file calls itself; may be empty

  uint32_t n_layers = 0, d_model = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, d_ff = 0, n_vocab = 0;
  uint32_t n_ctx_train = 0;
  std::vector<LayerConfig> layers;  // [n_layers]

  NormKind norm = NormKind::kRms;
  NormPlace norm_place = NormPlace::kPre;
  float norm_eps = 0;
  bool qk_norm = false;
  Activation activation = Activation::kSilu;
  RopeConfig rope;
  bool learned_positions = false;
  MoeConfig moe;

  float embed_scale = 1.0f;
  float attn_scale = 0;  // on q.k
  float attn_softcap = 0;
  float final_softcap = 0;
};

// One "key: value" a line, every field.
std::string to_string(const ModelConfig& config);

}  // namespace realizar
