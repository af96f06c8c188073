// The mixer of layers without one.
#pragma once

#include "model/kind.h"

namespace realizar {

struct NoMixerWeights {};

struct NoMixerConfig {
  using Weights = NoMixerWeights;
  static constexpr const char* kName = "no mixer";
  constexpr void visit(const auto&) const {}
  bool operator==(const NoMixerConfig&) const = default;
};

inline StateLayout state_layout(const NoMixerConfig&, uint32_t) {
  return Recurrent{};
}
inline uint64_t size_of(const NoMixerConfig&, Dim) {
  return 0;
}
inline Result<NoMixerWeights> bind(const NoMixerConfig&, TensorBinder&) {
  return NoMixerWeights{};
}
inline void add_to(LayerBuilder&, const NoMixerConfig&, const NoMixerWeights&) {}

}  // namespace realizar
