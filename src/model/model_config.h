// A model's dimensions and traits, validated. Immutable and printable; knows neither file nor device. Every difference
// between architectures is a value here, and every difference between layers a value of the layer.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "backend/op_types.h"
#include "backend/state_layout.h"
#include "model/ffns/channel_mix.h"
#include "model/ffns/experts.h"
#include "model/ffns/gated.h"
#include "model/ffns/none.h"
#include "model/ffns/plain.h"
#include "model/layer_steps.h"
#include "model/mixers/attention.h"
#include "model/mixers/delta_net.h"
#include "model/mixers/kimi_delta.h"
#include "model/mixers/latent_attention.h"
#include "model/mixers/mamba.h"
#include "model/mixers/mamba2.h"
#include "model/mixers/none.h"
#include "model/mixers/rwkv7.h"
#include "model/mixers/short_conv.h"
#include "model/streams/altup.h"
#include "model/streams/layer_table.h"
#include "realizar/pooling.h"
#include "realizar/types.h"

namespace realizar {

// Kinds of a layer's two branches; each has a file with its config, weights and operations.
using MixerConfig = std::variant<AttentionConfig, LatentAttentionConfig, Mamba2Config, DeltaNetConfig, ShortConvConfig,
                                 KimiDeltaConfig, MambaConfig, NoMixerConfig, Rwkv7Config>;
using FfnConfig = std::variant<GatedConfig, PlainConfig, ExpertsConfig, NoFfnConfig, ChannelMixConfig>;

struct LayerConfig {
  NormPlace norm_place = NormPlace::kPre;
  MixerConfig mixer;
  FfnConfig ffn;
  float out_scale = 1.0f;      // on the stream, after the layer
  float ffn_in_scale = 1.0f;   // on the output of the ffn's norm
  bool has_mixer_norm = true;  // false: the mixer reads the residual stream itself instead of its norm
};

// A rotary embedding of queries and keys. A model may have several, and layers without one.
struct RopeConfig {
  uint32_t n_rot = 0;           // leading dimensions of a head that rotate
  std::vector<float> inv_freq;  // [n_rot / 2], every scaling rule folded in
  float scale = 1.0f;           // YaRN's and LongRoPE's attention factor on q and k
  double base = 0;              // from the file; only the frequencies are used in the computation
};

struct ModelConfig {
  std::string arch;  // GGUF's general.architecture, e.g. "qwen2"
  std::string name;  // the name in the file; may be empty

  uint32_t n_layers = 0, d_model = 0, n_vocab = 0;
  uint32_t d_ff = 0;  // from the file: width of dense ffns; 0: there are none
  uint32_t n_ctx_train = 0;
  uint32_t n_ctx = 0;               // context length, requested or default, by which ropes are chosen
  std::vector<LayerConfig> layers;  // [n_layers]
  std::vector<RopeConfig> ropes;    // AttentionConfig::rope_idx is an index here

  NormKind norm = NormKind::kRms;
  float norm_eps = 0;
  bool learned_positions = false;
  bool is_head_tied = false;   // the embedding is the head
  bool has_unit_head = false;  // the head's rows are normalized to length 1
  bool lacks_head = false;     // the model only gives vectors; the embedding is a placeholder for its head
  // How hidden states become a vector; kRank: how they become scores.
  Pooling pooling = Pooling::kLast;
  bool is_bidirectional = false;  // an encoder: attends to the whole text, in one step
  uint32_t n_types = 0;           // token types; 0: there are none
  uint32_t n_labels = 0;          // scores of a text; 0: there are none
  uint32_t n_dense = 0;           // width between the two dense layers after pooling; 0: there are none
  float embed_scale = 1.0f;
  float residual_scale = 1.0f;  // on a branch's output
  float logit_scale = 1.0f;
  float final_softcap = 0;  // on scaled logits, or on scores; 0: none
  LayerTableConfig layer_table;
  AltUpConfig altup;
  uint32_t n_layers_each = 1;  // layers here for each layer in the file; 2 if two mixers work in parallel
};

// Number of layers in the file.
inline uint32_t n_file_layers(const ModelConfig& config) {
  return config.n_layers / config.n_layers_each;
}

// Columns of Forward::logits: the vocabulary, scores, or for an encoder the hidden state.
uint32_t n_outputs(const ModelConfig& config);

// False for encoders, rerankers and models without a head.
inline bool gives_text(const ModelConfig& config) {
  return !config.is_bidirectional && config.n_labels == 0 && !config.lacks_head;
}

// Dimensions of the first attention layer; most models have the same in all. Zeros if there is none.
struct HeadSizes {
  uint32_t n_heads = 0, n_kv_heads = 0;
  uint32_t key_dim = 0, value_dim = 0;  // in the cache; value_dim 0: values are parts of keys
};
HeadSizes heads_of(const ModelConfig& config);

// State of each layer for a sequence of up to n_ctx positions.
std::vector<StateLayout> state_layouts(const ModelConfig& config, uint32_t n_ctx);
// All fields, one "key: value" per line.
std::string to_string(const ModelConfig& config);

}  // namespace realizar
