// down . activation(up . x + b_up) + b_down
#pragma once

#include "model/kind.h"

namespace realizar {

struct PlainWeights {
  WeightId w_up = kNoWeight;    // [d_ff, d_model]
  WeightId w_down = kNoWeight;  // [d_model, d_ff]
  WeightId b_up = kNoWeight;    // [d_ff]
  WeightId b_down = kNoWeight;  // [d_model]
};

struct PlainConfig {
  using Weights = PlainWeights;
  static constexpr const char* kName = "plain ffn";

  uint32_t d_ff = 0;
  Activation activation = Activation::kGelu;
  Xielu xielu = {};  // for kXielu

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("d_ff", d_ff), v("activation", activation), v("xielu", xielu);
  }
  bool operator==(const PlainConfig&) const = default;
};

// 0 if the kind has no such dimension.
uint64_t size_of(const PlainConfig& config, Dim dim);
Result<PlainWeights> bind(const PlainConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const PlainConfig& config, const PlainWeights& weights);

}  // namespace realizar
