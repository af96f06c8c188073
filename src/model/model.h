// A model on a backend: config and bound weights. load() resolves every name once, checks every tensor's type and
// shape, and refuses missing, misshapen or unclaimed tensors by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/backend.h"
#include "formats/model_file.h"
#include "model/adapter_targets.h"
#include "model/model_config.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

struct ModelOptions {
  // Context length of a sequence; 0: the trained length, or as extended by `rope`, at most 8192. Used by read_config():
  // LongRoPE chooses its factors by it.
  uint32_t n_ctx = 0;
  RopeSettings rope = {};  // used by read_config()
  // Called after each tensor; returning false cancels loading (Cancelled).
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress = {};
  bool hash_weights = false;  // compute Model::weights_hash() while loading
  AdapterSlots adapters = {};
};

// Reads and validates only the config; reads no tensor data except vectors and a head that the config declares tied.
// Errors: Unsupported (architecture or trait, by name), FormatError (key missing, of the wrong type or out of range),
// InvalidArgument (ModelOptions::rope, by field).
Result<ModelConfig> read_config(const ModelFile& file, const ModelOptions& options = {});

// Checks a file as Model::load() does, without a backend: matrix data is not read, so NaN and infinities there are not
// found. Errors: those of Model::load().
Status check_tensors(const ModelFile& file, const ModelConfig& config);

// Handles of the weights on the backend. Vectors are F32. A weight that the model lacks is kNoWeight.
using MixerWeights = std::variant<AttentionWeights, LatentAttentionWeights, Mamba2Weights, DeltaNetWeights,
                                  ShortConvWeights, KimiDeltaWeights, MambaWeights, NoMixerWeights, Rwkv7Weights>;
using FfnWeights = std::variant<GatedWeights, PlainWeights, ExpertWeights, NoFfnWeights, ChannelMixWeights>;

struct LayerWeights {
  WeightId attn_norm = kNoWeight, attn_norm_bias = kNoWeight, attn_post_norm = kNoWeight;  // [d_model]
  WeightId ffn_norm = kNoWeight, ffn_norm_bias = kNoWeight, ffn_post_norm = kNoWeight;     // [d_model]
  WeightId attn_post_norm_bias = kNoWeight, ffn_post_norm_bias = kNoWeight;                // [d_model]
  MixerWeights mixer;                                                                      // of the config's kind
  FfnWeights ffn;
  LayerInputWeights input;
  AltUpWeights altup;
};

struct Weights {
  WeightId embed = kNoWeight;                                    // [n_vocab, d_model]
  WeightId embed_norm = kNoWeight, embed_norm_bias = kNoWeight;  // [d_model]
  WeightId position_embed = kNoWeight;                           // [n_ctx_train, d_model]
  WeightId type_embed = kNoWeight;                               // [n_types, d_model]
  WeightId pooler = kNoWeight, pooler_bias = kNoWeight;          // [d_model, d_model], [d_model]
  WeightId dense_up = kNoWeight;                                 // [n_dense, d_model]
  WeightId dense_down = kNoWeight;                               // [d_model, n_dense]
  WeightId score = kNoWeight, score_bias = kNoWeight;            // [n_labels, d_model], [n_labels]
  WeightId final_norm = kNoWeight, final_norm_bias = kNoWeight;  // [d_model]
  WeightId head = kNoWeight;                                     // [n_vocab, d_model]; the embedding if tied
  WeightId head_bias = kNoWeight;                                // [n_vocab]
  LayerTable layer_table;
  AltUpEnds altup;
  std::vector<WeightId> inv_freqs;   // [n ropes], each [n_rot / 2]
  std::vector<LayerWeights> layers;  // [n_layers]
};

class Model {
 public:
  // Loads the weights into `backend`, which must be configured already. Pages of the file are released once they are
  // read. Errors: those of read_config(); NotFound (tensor), FormatError (shape, with expected and actual), Unsupported
  // (unclaimed tensor), those of the backend.
  static Result<Model> load(const ModelFile& file, Backend& backend, const ModelOptions& options = {});
  // With a config that the caller has read already.
  static Result<Model> load(const ModelFile& file, const ModelConfig& config, Backend& backend,
                            const ModelOptions& options = {});

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  // Hash of all bytes of the loaded tensors; nullopt unless ModelOptions::hash_weights is set.
  std::optional<uint64_t> weights_hash() const { return weights_hash_; }
  const AdapterTargets& adapter_targets() const { return adapter_targets_; }

 private:
  Model() = default;
  ModelConfig config_;
  Weights weights_;
  AdapterTargets adapter_targets_;
  std::optional<uint64_t> weights_hash_;
};

}  // namespace realizar
