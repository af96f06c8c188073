// Mamba (Gu and Dao 2023): a short convolution, then a scan in which every channel has its own decay for each number of
// its state. The time steps (low-rank), b and c depend on the row, and may be normalized (Falcon Mamba, Jamba).
#pragma once

#include "model/kind.h"

namespace realizar {

struct MambaWeights {
  WeightId w_conv_in = kNoWeight;                                        // [n_inner, d_model]
  WeightId w_gate = kNoWeight;                                           // [n_inner, d_model]
  WeightId conv = kNoWeight, conv_bias = kNoWeight;                      // [n_inner, n_taps], [n_inner]
  WeightId w_dt_low = kNoWeight;                                         // [dt_rank, n_inner]
  WeightId w_b = kNoWeight, w_c = kNoWeight;                             // [d_state, n_inner]
  WeightId dt_norm = kNoWeight, b_norm = kNoWeight, c_norm = kNoWeight;  // [dt_rank], [d_state], [d_state]
  WeightId w_dt = kNoWeight, dt_bias = kNoWeight;                        // [n_inner, dt_rank], [n_inner]
  WeightId a = kNoWeight, d = kNoWeight;                                 // [n_inner, d_state], [n_inner]
  WeightId w_out = kNoWeight;                                            // [d_model, n_inner]
};

struct MambaConfig {
  using Weights = MambaWeights;
  static constexpr const char* kName = "Mamba";

  uint32_t n_inner = 0;  // channels
  uint32_t d_state = 0;
  uint32_t dt_rank = 0;
  uint32_t n_taps = 0;     // of the convolution
  bool has_norms = false;  // of the low-rank time steps, b and c
  float norms_eps = 0;

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_inner", n_inner), v("d_state", d_state), v("dt_rank", dt_rank), v("n_taps", n_taps);
    v("has_norms", has_norms), v("norms_eps", norms_eps);
  }
  bool operator==(const MambaConfig&) const = default;
};

StateLayout state_layout(const MambaConfig& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const MambaConfig& config, Dim dim);
Result<MambaWeights> bind(const MambaConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const MambaConfig& config, const MambaWeights& weights);

}  // namespace realizar
