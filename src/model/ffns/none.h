// The ffn of layers without one.
#pragma once

#include "model/kind.h"

namespace realizar {

struct NoFfnWeights {};

struct NoFfnConfig {
  using Weights = NoFfnWeights;
  static constexpr const char* kName = "no ffn";
  constexpr void visit(const auto&) const {}
  bool operator==(const NoFfnConfig&) const = default;
};

inline uint64_t size_of(const NoFfnConfig&, Dim) {
  return 0;
}
inline Result<NoFfnWeights> bind(const NoFfnConfig&, TensorBinder&) {
  return NoFfnWeights{};
}
inline void add_to(LayerBuilder&, const NoFfnConfig&, const NoFfnWeights&) {}

}  // namespace realizar
