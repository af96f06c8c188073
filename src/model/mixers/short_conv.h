// A short convolution with gates on its input and output (LFM2).
#pragma once

#include "model/kind.h"

namespace realizar {

struct ShortConvWeights {
  WeightId w_in_gate = kNoWeight, w_out_gate = kNoWeight, w_x = kNoWeight;  // [n_cols, d_model]
  WeightId conv = kNoWeight;                                                // [n_cols, n_taps]
  WeightId w_out = kNoWeight;                                               // [d_model, n_cols]
};

struct ShortConvConfig {
  using Weights = ShortConvWeights;
  static constexpr const char* kName = "short convolution";

  uint32_t n_cols = 0;
  uint32_t n_taps = 0;

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_cols", n_cols), v("n_taps", n_taps);
  }
  bool operator==(const ShortConvConfig&) const = default;
};

StateLayout state_layout(const ShortConvConfig& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const ShortConvConfig& config, Dim dim);
Result<ShortConvWeights> bind(const ShortConvConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const ShortConvConfig& config, const ShortConvWeights& weights);

}  // namespace realizar
