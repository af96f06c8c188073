// AltUp (Baykal et al. 2023): a row has several hidden states, its streams; each layer computes the first and predicts
// the others. LAuReL (Menghani et al. 2024): a low-rank projection of each mixer's input is added to the stream. Gemma
// 3n has both.
#pragma once

#include <vector>

#include "model/kind.h"

namespace realizar {

struct ModelConfig;
struct Program;

struct AltUpConfig {
  uint32_t n_streams = 1;    // 1: no AltUp
  uint32_t laurel_rank = 0;  // 0: no LAuReL

  bool operator==(const AltUpConfig&) const = default;
};

// Projections from the first stream to the others at the start, and back at the end: [n_streams - 1], each [d_model,
// d_model].
struct AltUpEnds {
  std::vector<WeightId> projs, unembeds;
};

struct AltUpWeights {
  WeightId router_norm = kNoWeight, router = kNoWeight;  // [d_model], [n_streams, d_model]
  WeightId predict = kNoWeight;                          // [n_streams * n_streams, n_streams]
  WeightId correct = kNoWeight;                          // [n_streams, n_streams]
  WeightId scale = kNoWeight;                            // [d_model], on the input of the per-layer embedding's gate
  WeightId laurel_left = kNoWeight, laurel_right = kNoWeight;  // [laurel_rank, d_model], [d_model, laurel_rank]
  WeightId laurel_norm = kNoWeight;                            // [d_model]
};

uint64_t size_of(const AltUpConfig& config, Dim dim);
Result<AltUpEnds> bind_ends(const AltUpConfig& config, TensorBinder& tensors);
Result<AltUpWeights> bind(const AltUpConfig& config, TensorBinder& tensors);

// fill_streams() projects the first stream, which holds the embedding, to the others and rescales them to its
// magnitude.
Streams add_streams(Program& program, const ModelConfig& config);
void fill_streams(Program& program, const AltUpConfig& config, const AltUpEnds& weights, const Streams& streams);
// mean = the mean of the first stream and the projections of the others, rescaled to its magnitude.
void add_mean_of_streams(Program& program, const ModelConfig& config, const AltUpEnds& weights, const Streams& streams,
                         ActId mean);

// Before a layer: predicts all streams, and sets `stream` to the first. After it: corrects the streams by its output.
void predict_streams(LayerBuilder& builder);
void correct_streams(LayerBuilder& builder);
// Called before the mixer. The mixer's post norm then has to be multiplied by laurel_scale().
void add_laurel(LayerBuilder& builder);
float laurel_scale(const AltUpConfig& config);

}  // namespace realizar
