// RWKV's channel mix: down . relu(up . x)^2, where x is a mix of each row and the previous one.
#pragma once

#include "model/kind.h"

namespace realizar {

struct ChannelMixWeights {
  WeightId shift = kNoWeight;   // [d_model, 2]
  WeightId w_up = kNoWeight;    // [d_ff, d_model]
  WeightId w_down = kNoWeight;  // [d_model, d_ff]
};

// Needs a mixer whose state has a part for it (mixers/rwkv7.h).
struct ChannelMixConfig {
  using Weights = ChannelMixWeights;
  static constexpr const char* kName = "channel mix";

  uint32_t d_ff = 0;

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("d_ff", d_ff);
  }
  bool operator==(const ChannelMixConfig&) const = default;
};

// 0 if the kind has no such dimension.
uint64_t size_of(const ChannelMixConfig& config, Dim dim);
Result<ChannelMixWeights> bind(const ChannelMixConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const ChannelMixConfig& config, const ChannelMixWeights& weights);

}  // namespace realizar
