// AltUp (Baykal et al. 2023): a row has several hidden states, its streams, of which each layer computes the first and
// predicts the others. LAuReL (Menghani et al. 2024): beside each mixer a product of a low rank of what it reads is
// added to the stream. Gemma 3n has both.
#pragma once

#include <vector>

#include "model/kind.h"

namespace realizar {

struct ModelConfig;
struct Program;

struct AltUpConfig {
  uint32_t n_streams = 1;    // 1: there is one, and no more to it
  uint32_t laurel_rank = 0;  // 0: there is nothing beside the mixer

  bool operator==(const AltUpConfig&) const = default;
};

// Matrices that make a row's other streams of the first one, and those that make them like it at the end:
// [n_streams - 1], each [d_model, d_model].
struct AltUpEnds {
  std::vector<WeightId> projs, unembeds;
};

struct AltUpWeights {
  WeightId router_norm = kNoWeight, router = kNoWeight;        // [d_model], [n_streams, d_model]
  WeightId predict = kNoWeight;                                // [n_streams * n_streams, n_streams]
  WeightId correct = kNoWeight;                                // [n_streams, n_streams]
  WeightId scale = kNoWeight;                                  // [d_model], on what a layer's table is gated by
  WeightId laurel_left = kNoWeight, laurel_right = kNoWeight;  // [laurel_rank, d_model], [d_model, laurel_rank]
  WeightId laurel_norm = kNoWeight;                            // [d_model]
};

uint64_t size_of(const AltUpConfig& config, Dim dim);
Result<AltUpEnds> bind_ends(const AltUpConfig& config, TensorBinder& tensors);
Result<AltUpWeights> bind(const AltUpConfig& config, TensorBinder& tensors);

// The streams as activations; and, once the first one has the embedding, the others as products of it, as large as it
// is.
Streams add_streams(Program& program, const ModelConfig& config);
void fill_streams(Program& program, const AltUpConfig& config, const AltUpEnds& weights, const Streams& streams);
// mean = the mean of the first stream and of what products make of the others, which become as large as the first.
void add_mean_of_streams(Program& program, const ModelConfig& config, const AltUpEnds& weights, const Streams& streams,
                         ActId mean);

// Around a layer: the stream becomes the first of those predicted; the streams become what the layer made of it.
void predict_streams(LayerBuilder& builder);
void correct_streams(LayerBuilder& builder);
// Before a mixer that reads a norm of the stream. Its own norm then brings the sum to its size, by laurel_scale().
void add_laurel(LayerBuilder& builder);
float laurel_scale(const AltUpConfig& config);

}  // namespace realizar
