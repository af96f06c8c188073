// down . (activation(gate . x) * (up . x)), where each product may have a bias, and gates that do not stand out from
// those of their row may count for nothing.
#pragma once

#include <limits>

#include "model/kind.h"

namespace realizar {

inline constexpr float kNoCut = -std::numeric_limits<float>::infinity();

struct GatedWeights {
  WeightId w_gate = kNoWeight, w_up = kNoWeight;  // [d_ff, d_model]
  WeightId w_down = kNoWeight;                    // [d_model, d_ff]
  WeightId b_gate = kNoWeight, b_up = kNoWeight;  // [d_ff]
  WeightId b_down = kNoWeight;                    // [d_model]
  WeightId sub_norm = kNoWeight;                  // of the hidden row, [d_ff]
};

struct GatedConfig {
  using Weights = GatedWeights;
  static constexpr const char* kName = "gated ffn";

  uint32_t d_ff = 0;
  Activation activation = Activation::kSilu;
  float out_scale = 1.0f;  // on what is brought back to the stream
  // Before the activation a gate becomes what it is above the row's mean by more than so many standard deviations, or
  // 0; kNoCut: all stay as they are. Not with biases.
  float n_stds = kNoCut;

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("d_ff", d_ff), v("activation", activation), v("out_scale", out_scale), v("n_stds", n_stds);
  }
  bool operator==(const GatedConfig&) const = default;
};

// 0 where the dimension is not of this kind.
uint64_t size_of(const GatedConfig& config, Dim dim);
Result<GatedWeights> bind(const GatedConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const GatedConfig& config, const GatedWeights& weights);

}  // namespace realizar
