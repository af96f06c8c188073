// Tables of the layers' own (Gemma 3n and 4): a layer adds the mean of its table's row for the token and of what is
// made of the embedding, gated by the stream.
#pragma once

#include "model/kind.h"

namespace realizar {

struct ModelConfig;
struct Program;

struct LayerTableConfig {
  uint32_t d_input = 0;  // width of a layer's row; 0: there are no such tables
  // Rows of the tables: ids from here on, which stand for parts of images and sounds, have none of their own.
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

// [n_rows, n_layers * d_input], made of the embedding `x`.
ActId add_layer_inputs(Program& program, const ModelConfig& config, const LayerTable& weights, ActId x);
// After a layer: its share of them is added to the stream, which then is scaled by the layer's out_scale; where a row
// has several streams, to the others.
void add_layer_input(LayerBuilder& builder, float out_scale);

}  // namespace realizar
