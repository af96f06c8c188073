// Gated delta net (Yang, Kautz and Hatamizadeh 2024): short convolutions of queries, keys and values, then a delta rule
// along the sequence, whose output is normalized and gated.
#pragma once

#include "model/kind.h"

namespace realizar {

struct DeltaNetWeights {
  WeightId w_qk = kNoWeight;      // [2 * n_keys, d_model], queries first
  WeightId w_v = kNoWeight;       // [n_values, d_model]
  WeightId w_gate = kNoWeight;    // [n_values, d_model]
  WeightId w_decay = kNoWeight;   // [n_heads, d_model]
  WeightId w_beta = kNoWeight;    // [n_heads, d_model]
  WeightId conv_qk = kNoWeight;   // [2 * n_keys, n_taps]
  WeightId conv_v = kNoWeight;    // [n_values, n_taps]
  WeightId qk_scale = kNoWeight;  // [2 * n_keys], on vectors with a mean square of 1
  WeightId a = kNoWeight;         // [n_heads]
  WeightId dt_bias = kNoWeight;   // [n_heads]
  WeightId norm = kNoWeight;      // [n_values]
  WeightId w_out = kNoWeight;     // [d_model, n_values]
};

struct DeltaNetConfig {
  using Weights = DeltaNetWeights;
  static constexpr const char* kName = "gated delta net";

  uint32_t n_heads = 0, n_key_heads = 0;  // of values and states; of queries and keys
  uint32_t key_dim = 0, value_dim = 0;    // of a head
  uint32_t n_taps = 0;                    // of the convolutions
  bool key_heads_in_turn = false;         // as DeltaRuleOp's

  uint32_t n_keys() const { return n_key_heads * key_dim; }
  uint32_t n_values() const { return n_heads * value_dim; }
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("n_key_heads", n_key_heads), v("key_dim", key_dim), v("value_dim", value_dim);
    v("n_taps", n_taps), v("key_heads_in_turn", key_heads_in_turn);
  }
  bool operator==(const DeltaNetConfig&) const = default;
};

StateLayout state_layout(const DeltaNetConfig& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const DeltaNetConfig& config, Dim dim);
Result<DeltaNetWeights> bind(const DeltaNetConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const DeltaNetConfig& config, const DeltaNetWeights& weights);

}  // namespace realizar
