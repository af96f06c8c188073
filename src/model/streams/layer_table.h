// Per-layer embeddings (Gemma 3n and 4): each layer adds the sum of its own embedding of the token and a projection of
// the model's embedding, gated by the stream.
#pragma once

#include "model/kind.h"

namespace realizar {

struct ModelConfig;
struct Program;

struct LayerTableConfig {
  uint32_t d_input = 0;  // width of a layer's embedding; 0: there are none
  // Rows of the table; higher token ids, which are placeholders for images and sounds, have none.
  uint32_t n_vocab = 0;

  bool operator==(const LayerTableConfig&) const = default;
};

struct LayerTable {
  WeightId table = kNoWeight;  // [n_vocab, n_layers * d_input]
  WeightId proj = kNoWeight;   // [n_layers * d_input, d_model]
  WeightId norm = kNoWeight;   // [n_layers * d_input]
};

struct LayerInputWeights {
  WeightId gate = kNoWeight;  // [d_input, d_model]
  WeightId proj = kNoWeight;  // [d_model, d_input]
  WeightId norm = kNoWeight;  // [d_model]
};

Result<LayerTable> bind_table(const ModelConfig& config, TensorBinder& tensors);
Result<LayerInputWeights> bind(const LayerTableConfig& config, TensorBinder& tensors);

// [n_rows, n_layers * d_input], from the embedding `x`.
ActId add_layer_inputs(Program& program, const ModelConfig& config, const LayerTable& weights, ActId x);
// Called after a layer: adds its embedding to the stream and multiplies the stream by out_scale. With AltUp, adds to
// all streams but the first.
void add_layer_input(LayerBuilder& builder, float out_scale);

}  // namespace realizar
