// A model's dimensions and traits, validated. Immutable and printable; knows neither file nor device. Everything in
// which decoders differ is a value here, and what may differ from layer to layer is a value of the layer.
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

// The kinds of a layer's two branches, each with its config, its weights and its operations in a file of its own.
using MixerConfig = std::variant<AttentionConfig, LatentAttentionConfig, Mamba2Config, DeltaNetConfig, ShortConvConfig,
                                 KimiDeltaConfig, MambaConfig, NoMixerConfig, Rwkv7Config>;
using FfnConfig = std::variant<GatedConfig, PlainConfig, ExpertsConfig, NoFfnConfig, ChannelMixConfig>;

struct LayerConfig {
  NormPlace norm_place = NormPlace::kPre;
  MixerConfig mixer;
  FfnConfig ffn;
  float out_scale = 1.0f;      // on the stream, after the layer
  float ffn_in_scale = 1.0f;   // on what the ffn's norm gives
  bool has_mixer_norm = true;  // false: the mixer reads the stream as it is, where others read a norm of it
};

// One way in which positions rotate queries and keys; a model may have several, and layers without any.
struct RopeConfig {
  uint32_t n_rot = 0;           // leading dimensions of a head that are rotated
  std::vector<float> inv_freq;  // [n_rot / 2], every scaling rule folded in
  float scale = 1.0f;           // YaRN's and LongRoPE's attention factor on q and k
  double base = 0;              // as the file has it; the frequencies are what counts
};

struct ModelConfig {
  std::string arch;  // GGUF's general.architecture, e.g. "qwen2"
  std::string name;  // what the file calls itself; may be empty

  uint32_t n_layers = 0, d_model = 0, n_vocab = 0;
  uint32_t d_ff = 0;  // as the file has it: of ffns without experts; 0: there are none
  uint32_t n_ctx_train = 0;
  uint32_t n_ctx = 0;               // positions of a sequence, as asked for or by default: what ropes are chosen for
  std::vector<LayerConfig> layers;  // [n_layers]
  std::vector<RopeConfig> ropes;    // AttentionConfig::rope_idx is an index here

  NormKind norm = NormKind::kRms;
  float norm_eps = 0;
  bool learned_positions = false;
  bool is_head_tied = false;   // the embedding is the head
  bool has_unit_head = false;  // the head's rows are divided by their lengths
  bool lacks_head = false;     // it was saved for its vectors alone; the embedding only stands for a head
  // What an embedding is made of; with kRank, the row that scores are made of.
  Pooling pooling = Pooling::kLast;
  bool is_bidirectional = false;  // a text's tokens see all of it, in one step: it has no next token
  uint32_t n_types = 0;           // of tokens; 0: they have none
  uint32_t n_labels = 0;          // scores of a text; 0: the model gives none
  uint32_t n_dense = 0;           // what a vector becomes between two last products; 0: there are none
  float embed_scale = 1.0f;
  float residual_scale = 1.0f;  // on what a branch adds to the stream
  float logit_scale = 1.0f;
  float final_softcap = 0;  // of the scaled logits, or of the scores; 0: none
  LayerTableConfig layer_table;
  AltUpConfig altup;
  uint32_t n_layers_each = 1;  // layers here of what is one in the file, where several mix beside each other
};

// Layers as the file counts them.
inline uint32_t n_file_layers(const ModelConfig& config) {
  return config.n_layers / config.n_layers_each;
}

// Columns of Forward::logits: the vocabulary's, scores, or of an encoder the hidden state's.
uint32_t n_outputs(const ModelConfig& config);

// Encoders do not, rerankers, whose outputs are scores, and models without a head.
inline bool gives_text(const ModelConfig& config) {
  return !config.is_bidirectional && config.n_labels == 0 && !config.lacks_head;
}

// Those of the first layer with attention, which most models have in all of them; zeros where no layer has it.
struct HeadSizes {
  uint32_t n_heads = 0, n_kv_heads = 0;
  uint32_t key_dim = 0, value_dim = 0;  // as the cache has them; value_dim 0: values are parts of keys
};
HeadSizes heads_of(const ModelConfig& config);

// What each layer keeps of a sequence of up to n_ctx positions.
std::vector<StateLayout> state_layouts(const ModelConfig& config, uint32_t n_ctx);
// One "key: value" a line, every field.
std::string to_string(const ModelConfig& config);

}  // namespace realizar
