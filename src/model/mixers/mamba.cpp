#include "model/mixers/mamba.h"

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

enum MambaPart : uint32_t { kMambaConvRows, kMambaScanState };

}  // namespace

StateLayout state_layout(const MambaConfig& c, uint32_t) {
  const size_t conv_rows = size_t{c.n_taps - 1} * c.n_inner, states = size_t{c.n_inner} * c.d_state;
  return Recurrent{{conv_rows * sizeof(float), states * sizeof(float)}};
}

uint64_t size_of(const MambaConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kSsmIn:
      return uint64_t{2} * c.n_inner;
    case Dim::kSsmInner:
    case Dim::kSsmConv:
      return c.n_inner;
    case Dim::kSsmX:
      return uint64_t{c.dt_rank} + 2 * c.d_state;
    case Dim::kSsmDtRank:
      return c.dt_rank;
    case Dim::kSsmState:
      return c.d_state;
    case Dim::kTaps:
      return c.n_taps;
    default:
      return 0;
  }
}

Result<MambaWeights> bind(const MambaConfig& c, TensorBinder& tensors) {
  MambaWeights w;
  RZ_TRY(const auto in,
         tensors.split_matrix(Role::kSsmIn, {{.n_rows = c.n_inner}, {.first_row = c.n_inner, .n_rows = c.n_inner}}));
  w.w_conv_in = in[0], w.w_gate = in[1];
  RZ_TRY(w.conv, tensors.vector(Role::kSsmConv));
  RZ_TRY(w.conv_bias, tensors.vector(Role::kSsmConvBias));
  RZ_TRY(const auto x, tensors.split_matrix(Role::kSsmX, {{.n_rows = c.dt_rank},
                                                          {.first_row = c.dt_rank, .n_rows = c.d_state},
                                                          {.first_row = c.dt_rank + c.d_state, .n_rows = c.d_state}}));
  w.w_dt_low = x[0], w.w_b = x[1], w.w_c = x[2];
  RZ_TRY(w.dt_norm, tensors.vector(Role::kSsmDtNorm));
  RZ_TRY(w.b_norm, tensors.vector(Role::kSsmBNorm));
  RZ_TRY(w.c_norm, tensors.vector(Role::kSsmCNorm));
  RZ_TRY(w.w_dt, tensors.matrix(Role::kSsmDt));
  RZ_TRY(w.dt_bias, tensors.vector(Role::kSsmDtBias));
  RZ_TRY(w.a, tensors.decay());
  RZ_TRY(w.d, tensors.vector(Role::kSsmD));
  RZ_TRY(w.w_out, tensors.matrix(Role::kSsmOut));
  return w;
}

void add_to(LayerBuilder& b, const MambaConfig& c, const MambaWeights& w) {
  const ActId conv_in = b.scratch("ssm_conv_in", c.n_inner), gate = b.scratch("ssm_gate", c.n_inner);
  const ActId conv = b.scratch("ssm_conv", c.n_inner), dt_low = b.scratch("ssm_dt_low", c.dt_rank);
  const ActId b_row = b.scratch("ssm_b", c.d_state), c_row = b.scratch("ssm_c", c.d_state);
  const ActId dt = b.scratch("ssm_dt", c.n_inner), scanned = b.scratch("ssm_out", c.n_inner);
  const OpPlace in = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = conv_in, .in = b.in(), .weight = w.w_conv_in, .place = in});
  b.add(LinearOp{.out = gate, .in = b.in(), .weight = w.w_gate, .place = in});
  b.add(ShortConvOp{.out = conv,
                    .in = conv_in,
                    .layer = b.layer(),
                    .part = kMambaConvRows,
                    .n_taps = c.n_taps,
                    .weight = w.conv,
                    .bias = w.conv_bias,
                    .activation = Activation::kSilu});
  const auto project = [&](ActId out, WeightId weight, WeightId norm) {
    b.add(LinearOp{.out = out, .in = conv, .weight = weight, .place = in});
    if (c.has_norms) b.add(NormOp{.out = out, .in = out, .weight = norm, .eps = c.norms_eps, .place = in});
  };
  project(dt_low, w.w_dt_low, w.dt_norm);
  project(b_row, w.w_b, w.b_norm);
  project(c_row, w.w_c, w.c_norm);
  b.add(LinearOp{.out = dt, .in = dt_low, .weight = w.w_dt, .place = in});
  b.add(StateScanOp{.out = scanned,
                    .x = conv,
                    .b = b_row,
                    .c = c_row,
                    .dt = dt,
                    .gate = gate,
                    .layer = b.layer(),
                    .part = kMambaScanState,
                    .n_heads = c.n_inner,
                    .head_dim = 1,
                    .n_groups = 1,
                    .d_state = c.d_state,
                    .a_cols = c.d_state,
                    .a = w.a,
                    .d = w.d,
                    .dt_bias = w.dt_bias});
  b.add_to_stream(LinearOp{.out = b.out(), .in = scanned, .weight = w.w_out, .place = b.place(OpRole::kO)});
}

}  // namespace realizar
