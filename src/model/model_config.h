// A model's dimensions and traits, validated. Immutable and printable; knows neither file nor device. Everything in
// which decoders differ is a value here, and what may differ from layer to layer is a value of the layer.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "backend/ops.h"
#include "backend/state_layout.h"
#include "model/ffns/experts.h"
#include "model/ffns/gated.h"
#include "model/ffns/plain.h"
#include "model/mixers/attention.h"
#include "realizar/types.h"

namespace realizar {

// Where norms stand in a layer: before each branch (Llama); before and after it (Gemma 2); one norm feeding mixer and
// ffn, which are added to the residual together (Phi-2).
enum class NormPlace : uint8_t { kPre, kSandwich, kParallel };

// The kinds of a layer's two branches, each with its config, its weights and its operations in a file of its own.
using MixerConfig = std::variant<AttentionConfig>;
using FfnConfig = std::variant<GatedConfig, PlainConfig, ExpertsConfig>;

struct LayerConfig {
  NormPlace norm_place = NormPlace::kPre;
  MixerConfig mixer;
  FfnConfig ffn;
};

// One way in which positions rotate queries and keys; a model may have several, and layers without any.
struct RopeConfig {
  uint32_t n_rot = 0;           // leading dimensions of a head that are rotated
  std::vector<float> inv_freq;  // [n_rot / 2], every scaling rule folded in
  float scale = 1.0f;           // YaRN's and LongRoPE's attention factor on q and k
};

struct ModelConfig {
  std::string arch;  // GGUF's general.architecture, e.g. "qwen2"
  std::string name;  // what the file calls itself; may be empty

  uint32_t n_layers = 0, d_model = 0, n_vocab = 0;
  uint32_t d_ff = 0;  // as the file has it: of ffns without experts
  uint32_t n_ctx_train = 0;
  uint32_t n_ctx = 0;               // positions of a sequence, as asked for or by default: what ropes are chosen for
  std::vector<LayerConfig> layers;  // [n_layers]
  std::vector<RopeConfig> ropes;    // AttentionConfig::rope_idx is an index here

  NormKind norm = NormKind::kRms;
  float norm_eps = 0;
  bool learned_positions = false;
  bool is_head_tied = false;  // the embedding is the head
  bool pools_mean = false;    // an embedding is the mean of all tokens' states, not the last one
  float embed_scale = 1.0f;
  float final_softcap = 0;  // of the logits; 0: none
};

// The first layer's: heads and their widths are the same in every layer.
const AttentionConfig& attention_of(const ModelConfig& config);

// What each layer keeps of a sequence of up to n_ctx positions.
std::vector<StateLayout> state_layouts(const ModelConfig& config, uint32_t n_ctx);
// One "key: value" a line, every field.
std::string to_string(const ModelConfig& config);

}  // namespace realizar
