// Kimi's delta attention (Kimi Linear, section 3): a delta rule with a decay for each dimension of a key. Decay and
// output gate are low-rank projections.
#pragma once

#include "model/kind.h"

namespace realizar {

struct KimiDeltaWeights {
  WeightId wq = kNoWeight, wk = kNoWeight, wv = kNoWeight;              // [n_inner, d_model]
  WeightId conv_q = kNoWeight, conv_k = kNoWeight, conv_v = kNoWeight;  // [n_inner, n_taps]
  WeightId q_scale = kNoWeight, k_scale = kNoWeight;                    // [n_inner], as DeltaNetWeights::qk_scale
  WeightId w_decay_low = kNoWeight, w_decay = kNoWeight;                // [head_dim, d_model], [n_inner, head_dim]
  WeightId w_gate_low = kNoWeight, w_gate = kNoWeight;                  // [head_dim, d_model], [n_inner, head_dim]
  WeightId w_beta = kNoWeight;                                          // [n_heads, d_model]
  WeightId a = kNoWeight;                                               // [n_heads]
  WeightId dt_bias = kNoWeight;                                         // [n_inner]
  WeightId norm = kNoWeight;                                            // [n_inner]
  WeightId wo = kNoWeight;                                              // [d_model, n_inner]
};

struct KimiDeltaConfig {
  using Weights = KimiDeltaWeights;
  static constexpr const char* kName = "delta attention";

  uint32_t n_heads = 0, head_dim = 0;  // of queries, keys and values
  uint32_t n_taps = 0;                 // of the convolutions

  uint32_t n_inner() const { return n_heads * head_dim; }
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("head_dim", head_dim), v("n_taps", n_taps);
  }
  bool operator==(const KimiDeltaConfig&) const = default;
};

StateLayout state_layout(const KimiDeltaConfig& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const KimiDeltaConfig& config, Dim dim);
Result<KimiDeltaWeights> bind(const KimiDeltaConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const KimiDeltaConfig& config, const KimiDeltaWeights& weights);

}  // namespace realizar
