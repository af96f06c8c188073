#include "model/mixers/short_conv.h"

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {

StateLayout state_layout(const ShortConvConfig& c, uint32_t) {
  return Recurrent{{size_t{c.n_taps - 1} * c.n_cols * sizeof(float)}};
}

uint64_t size_of(const ShortConvConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kSsmIn:
      return uint64_t{3} * c.n_cols;
    case Dim::kSsmConv:
    case Dim::kSsmInner:
      return c.n_cols;
    case Dim::kTaps:
      return c.n_taps;
    default:
      return 0;
  }
}

Result<ShortConvWeights> bind(const ShortConvConfig& c, TensorBinder& tensors) {
  ShortConvWeights w;
  RZ_TRY(const auto parts, tensors.split_matrix(Role::kSsmIn, {{.n_rows = c.n_cols},
                                                               {.first_row = c.n_cols, .n_rows = c.n_cols},
                                                               {.first_row = 2 * c.n_cols, .n_rows = c.n_cols}}));
  w.w_in_gate = parts[0], w.w_out_gate = parts[1], w.w_x = parts[2];
  RZ_TRY(w.conv, tensors.vector(Role::kSsmConv));
  RZ_TRY(w.w_out, tensors.matrix(Role::kSsmOut));
  return w;
}

void add_to(LayerBuilder& b, const ShortConvConfig& c, const ShortConvWeights& w) {
  const ActId in_gate = b.scratch("conv_in_gate", c.n_cols), out_gate = b.scratch("conv_out_gate", c.n_cols);
  const ActId x = b.scratch("conv_x", c.n_cols), out = b.scratch("conv_out", c.n_cols);
  const OpPlace place = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = in_gate, .in = b.in(), .weight = w.w_in_gate, .place = place});
  b.add(LinearOp{.out = out_gate, .in = b.in(), .weight = w.w_out_gate, .place = place});
  b.add(LinearOp{.out = x, .in = b.in(), .weight = w.w_x, .place = place});
  b.add(GateOp{.out = x, .in = x, .gate = in_gate, .is_factor = true, .place = place});
  b.add(ShortConvOp{.out = out, .in = x, .layer = b.layer(), .part = 0, .n_taps = c.n_taps, .weight = w.conv});
  b.add(GateOp{.out = out, .in = out, .gate = out_gate, .is_factor = true, .place = b.place(OpRole::kO)});
  b.add_to_stream(LinearOp{.out = b.out(), .in = out, .weight = w.w_out, .place = b.place(OpRole::kO)});
}

}  // namespace realizar
