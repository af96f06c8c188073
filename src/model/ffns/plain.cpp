#include "model/ffns/plain.h"

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {

uint64_t size_of(const PlainConfig& c, Dim dim) {
  return dim == Dim::kFf ? c.d_ff : 0;
}

Result<PlainWeights> bind(const PlainConfig&, TensorBinder& tensors) {
  PlainWeights w;
  const uint32_t unit = tensors.shard_unit(Role::kWDown, 1);
  RZ_TRY(w.w_up, tensors.matrix(Role::kWUp, {}, unit));
  RZ_TRY(w.w_down, tensors.matrix(Role::kWDown, {}, unit));
  RZ_TRY(w.b_up, tensors.vector(Role::kBUp));
  RZ_TRY(w.b_down, tensors.vector(Role::kBDown));
  return w;
}

void add_to(LayerBuilder& b, const PlainConfig& c, const PlainWeights& w) {
  const ActId ff = b.scratch("ff", c.d_ff);
  b.add(LinearOp{.out = ff,
                 .in = b.in(),
                 .weight = w.w_up,
                 .bias = w.b_up,
                 .epilogue = {.activation = c.activation, .xielu = c.xielu},
                 .place = b.place(OpRole::kUp)});
  b.add_to_stream(
      LinearOp{.out = b.out(), .in = ff, .weight = w.w_down, .bias = w.b_down, .place = b.place(OpRole::kDown)});
}

}  // namespace realizar
