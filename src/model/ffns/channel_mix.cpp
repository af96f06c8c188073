#include "model/ffns/channel_mix.h"

#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/mixers/rwkv7.h"
#include "model/tensor_binder.h"

namespace realizar {

uint64_t size_of(const ChannelMixConfig& c, Dim dim) {
  return dim == Dim::kFf ? c.d_ff : 0;
}

Result<ChannelMixWeights> bind(const ChannelMixConfig&, TensorBinder& tensors) {
  ChannelMixWeights w;
  RZ_TRY(const std::vector<float> shares, tensors.values(Role::kFfnShift));
  RZ_TRY(w.shift, upload_shift(tensors, shares.data(), shares.size()));
  RZ_TRY(w.w_up, tensors.matrix(Role::kWUp));
  RZ_TRY(w.w_down, tensors.matrix(Role::kWDown));
  return w;
}

void add_to(LayerBuilder& b, const ChannelMixConfig& c, const ChannelMixWeights& w) {
  const ActId in = b.scratch("shift", b.d_model()), ff = b.scratch("ff", c.d_ff);
  b.add(
      ShortConvOp{.out = in, .in = b.in(), .layer = b.layer(), .part = kChannelShift, .n_taps = 2, .weight = w.shift});
  b.add(LinearOp{.out = ff,
                 .in = in,
                 .weight = w.w_up,
                 .epilogue = {.activation = Activation::kReluSquared},
                 .place = b.place(OpRole::kUp)});
  b.add_to_stream(LinearOp{.out = b.out(), .in = ff, .weight = w.w_down, .place = b.place(OpRole::kDown)});
}

}  // namespace realizar
