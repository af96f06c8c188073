#include "model/mixers/mamba2.h"

#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

enum Part : uint32_t { kConvRows, kScanState };

// Applies the factors of x, b and c to the taps of their columns; the bias is added after them.
std::vector<float> scaled_taps(const Mamba2Config& c, std::vector<float> taps) {
  const uint32_t n_group_cols = c.n_groups * c.d_state;
  for (size_t i = 0; i < taps.size(); ++i) {
    const size_t col = i / c.n_taps;
    taps[i] *= col < c.n_inner() ? c.scales.x : col < c.n_inner() + n_group_cols ? c.scales.b : c.scales.c;
  }
  return taps;
}

}  // namespace

StateLayout state_layout(const Mamba2Config& c, uint32_t) {
  const size_t conv_rows = size_t{c.n_taps - 1} * c.n_conv(), states = size_t{c.n_inner()} * c.d_state;
  return Recurrent{{conv_rows * sizeof(float), states * sizeof(float)}};
}

uint64_t size_of(const Mamba2Config& c, Dim dim) {
  switch (dim) {
    case Dim::kSsmIn:
      return uint64_t{c.n_inner()} + c.n_conv() + c.n_heads;
    case Dim::kSsmInner:
      return c.n_inner();
    case Dim::kSsmConv:
      return c.n_conv();
    case Dim::kSsmHeads:
      return c.n_heads;
    case Dim::kSsmGroups:
      return c.n_groups;
    case Dim::kSsmGroup:
      return c.n_inner() / c.n_groups;
    case Dim::kTaps:
      return c.n_taps;
    default:
      return 0;
  }
}

Result<Mamba2Weights> bind(const Mamba2Config& c, TensorBinder& tensors) {
  Mamba2Weights w;
  RZ_TRY(const auto parts,
         tensors.split_matrix(Role::kSsmIn, {{.n_rows = c.n_inner()},
                                             {.first_row = c.n_inner(), .n_rows = c.n_conv()},
                                             {.first_row = c.n_inner() + c.n_conv(), .n_rows = c.n_heads}}));
  w.w_gate = parts[0], w.w_conv_in = parts[1], w.w_dt = parts[2];
  RZ_TRY(const auto conv, tensors.values(Role::kSsmConv));
  RZ_TRY(w.conv, tensors.upload(scaled_taps(c, conv)));
  RZ_TRY(w.conv_bias, tensors.vector(Role::kSsmConvBias));
  RZ_TRY(w.a, tensors.decay());
  RZ_TRY(w.d, tensors.vector(Role::kSsmD));
  RZ_TRY(w.dt_bias, tensors.vector(Role::kSsmDtBias));
  RZ_TRY(w.norm, tensors.vector(Role::kSsmNorm));
  RZ_TRY(w.w_out, tensors.matrix(Role::kSsmOut));
  return w;
}

void add_to(LayerBuilder& b, const Mamba2Config& c, const Mamba2Weights& w) {
  const ActId gate = b.scratch("ssm_gate", c.n_inner()), conv_in = b.scratch("ssm_conv_in", c.n_conv());
  const ActId conv = b.scratch("ssm_conv", c.n_conv()), dt = b.scratch("ssm_dt", c.n_heads);
  const ActId scanned = b.scratch("ssm_out", c.n_inner());
  const OpPlace in = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = gate, .in = b.in(), .weight = w.w_gate, .epilogue = {.scale = c.scales.gate}, .place = in});
  b.add(LinearOp{.out = conv_in, .in = b.in(), .weight = w.w_conv_in, .place = in});
  b.add(LinearOp{.out = dt, .in = b.in(), .weight = w.w_dt, .epilogue = {.scale = c.scales.dt}, .place = in});
  b.add(ShortConvOp{.out = conv,
                    .in = conv_in,
                    .layer = b.layer(),
                    .part = kConvRows,
                    .n_taps = c.n_taps,
                    .weight = w.conv,
                    .bias = w.conv_bias,
                    .activation = Activation::kSilu});
  b.add(StateScanOp{.out = scanned,
                    .x = conv,
                    .b = conv,
                    .c = conv,
                    .dt = dt,
                    .gate = gate,
                    .b_col = c.n_inner(),
                    .c_col = c.n_inner() + c.n_groups * c.d_state,
                    .layer = b.layer(),
                    .part = kScanState,
                    .n_heads = c.n_heads,
                    .head_dim = c.head_dim,
                    .n_groups = c.n_groups,
                    .d_state = c.d_state,
                    .a = w.a,
                    .d = w.d,
                    .dt_bias = w.dt_bias});
  if (c.has_norm) {
    b.add(NormOp{.out = scanned,
                 .in = scanned,
                 .weight = w.norm,
                 .eps = b.norm_eps(),
                 .n_groups = c.n_groups,
                 .place = b.place(OpRole::kPost)});
  }
  b.add_to_stream(LinearOp{.out = b.out(),
                           .in = scanned,
                           .weight = w.w_out,
                           .epilogue = {.scale = c.scales.out},
                           .place = b.place(OpRole::kO)});
}

}  // namespace realizar
