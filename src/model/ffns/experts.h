// A router chooses n_used of n_experts gated ffns for each token; their outputs are added by its weights.
#pragma once

#include <cstdint>

#include "backend/ops.h"
#include "realizar/result.h"

namespace realizar {

class LayerBuilder;
class TensorBinder;
enum class Dim : uint8_t;

struct ExpertWeights {
  WeightId router = kNoWeight;                    // [n_experts, d_model]
  WeightId w_gate = kNoWeight, w_up = kNoWeight;  // [n_experts, d_ff, d_model]
  WeightId w_down = kNoWeight;                    // [n_experts, d_model, d_ff]
};

struct ExpertsConfig {
  using Weights = ExpertWeights;

  uint32_t n_experts = 0, n_used = 0;
  uint32_t d_ff = 0;        // of one expert
  bool renormalize = true;  // the weights of the chosen sum to 1
  float scale = 1.0f;       // on the weights
  Activation activation = Activation::kSilu;

  bool operator==(const ExpertsConfig&) const = default;
};

// 0 where the dimension is not of this kind.
uint64_t size_of(const ExpertsConfig& config, Dim dim);
Result<ExpertWeights> bind(const ExpertsConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const ExpertsConfig& config, const ExpertWeights& weights);

}  // namespace realizar
