#include "model/ffns/gated.h"

#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {

uint64_t size_of(const GatedConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kFf:
      return c.d_ff;
    case Dim::kGateUp:
      return uint64_t{2} * c.d_ff;
    default:
      return 0;
  }
}

Result<GatedWeights> bind(const GatedConfig& c, TensorBinder& tensors) {
  GatedWeights w;
  if (tensors.is_known(Role::kWGateUp)) {
    RZ_TRY(const auto parts, tensors.split_matrix(Role::kWGateUp, {{c.d_ff}, {c.d_ff}}));
    w.w_gate = parts[0], w.w_up = parts[1];
  } else {
    RZ_TRY(w.w_gate, tensors.matrix(Role::kWGate));
    RZ_TRY(w.w_up, tensors.matrix(Role::kWUp));
  }
  RZ_TRY(w.w_down, tensors.matrix(Role::kWDown));
  return w;
}

void add_to(LayerBuilder& b, const GatedConfig& c, const GatedWeights& w) {
  const ActId ff = b.scratch("ff", c.d_ff);
  b.add(GatedLinearOp{.out = ff,
                      .in = b.in(),
                      .gate = w.w_gate,
                      .up = w.w_up,
                      .activation = c.activation,
                      .place = b.place(OpRole::kGateUp)});
  b.add_to_stream(LinearOp{.out = b.out(), .in = ff, .weight = w.w_down, .place = b.place(OpRole::kDown)});
}

}  // namespace realizar
