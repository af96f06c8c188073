// Mamba 2 (Dao and Gu 2024, section 7): a short convolution, then a scan with one decay per head, whose output is gated
// and normalized. One projection gives the gate, the convolution's input (the scan's x, b and c) and the time steps.
#pragma once

#include "model/kind.h"

namespace realizar {

struct Mamba2Weights {
  WeightId w_gate = kNoWeight;                       // [n_heads * head_dim, d_model]
  WeightId w_conv_in = kNoWeight;                    // [n_conv, d_model]
  WeightId w_dt = kNoWeight;                         // [n_heads, d_model]
  WeightId conv = kNoWeight, conv_bias = kNoWeight;  // [n_conv, n_taps], [n_conv]
  WeightId a = kNoWeight, d = kNoWeight;             // [n_heads]
  WeightId dt_bias = kNoWeight;                      // [n_heads]
  WeightId norm = kNoWeight;                         // [n_heads * head_dim]
  WeightId w_out = kNoWeight;                        // [d_model, n_heads * head_dim]
};

// Factors on the parts of the input projection and on the output (Falcon-H1).
struct Mamba2Scales {
  float gate = 1, x = 1, b = 1, c = 1, dt = 1, out = 1;
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("gate", gate), v("x", x), v("b", b), v("c", c), v("dt", dt), v("out", out);
  }
  bool operator==(const Mamba2Scales&) const = default;
};

struct Mamba2Config {
  using Weights = Mamba2Weights;
  static constexpr const char* kName = "Mamba 2";

  uint32_t n_heads = 0, head_dim = 0;
  uint32_t n_groups = 0;  // groups of heads that share b and c; the norm is per group
  uint32_t d_state = 0;
  uint32_t n_taps = 0;  // of the convolution
  bool has_norm = true;
  Mamba2Scales scales = {};

  uint32_t n_inner() const { return n_heads * head_dim; }
  // Width of the convolution: x of every head, b and c of every group.
  uint32_t n_conv() const { return n_inner() + 2 * n_groups * d_state; }
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("head_dim", head_dim), v("n_groups", n_groups), v("d_state", d_state);
    v("n_taps", n_taps), v("has_norm", has_norm), v("scales", scales);
  }
  bool operator==(const Mamba2Config&) const = default;
};

StateLayout state_layout(const Mamba2Config& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const Mamba2Config& config, Dim dim);
Result<Mamba2Weights> bind(const Mamba2Config& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const Mamba2Config& config, const Mamba2Weights& weights);

}  // namespace realizar
