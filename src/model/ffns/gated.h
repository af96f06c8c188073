// down . (activation(gate . x) * (up . x)). Each product may have a bias; only the largest gates of a row may be
// active.
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
  WeightId sub_norm = kNoWeight;                  // [d_ff], of the hidden row
};

struct GatedConfig {
  using Weights = GatedWeights;
  static constexpr const char* kName = "gated ffn";

  uint32_t d_ff = 0;
  Activation activation = Activation::kSilu;
  float out_scale = 1.0f;  // on the branch's output
  // Sparse activation (Gemma 3n): gates become max(0, gate - (mean + n_stds * standard deviation)) over their row
  // before the activation. kNoCut: off.
  float n_stds = kNoCut;

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("d_ff", d_ff), v("activation", activation), v("out_scale", out_scale), v("n_stds", n_stds);
  }
  bool operator==(const GatedConfig&) const = default;
};

// 0 if the kind has no such dimension.
uint64_t size_of(const GatedConfig& config, Dim dim);
Result<GatedWeights> bind(const GatedConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const GatedConfig& config, const GatedWeights& weights);

}  // namespace realizar
