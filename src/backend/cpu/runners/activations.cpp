#include "backend/cpu/runners/activations.h"

#include <algorithm>
#include <cmath>

namespace realizar::cpu {
namespace {

void apply_xielu(const Xielu& constants, float* x, uint32_t n) {
  const auto& [alpha_p, alpha_n, beta, eps] = constants;
  for (uint32_t i = 0; i < n; ++i) {
    const float own = x[i] > 0 ? alpha_p * x[i] * x[i] : alpha_n * (std::expm1(std::min(x[i], eps)) - x[i]);
    x[i] = own + beta * x[i];
  }
}

}  // namespace

MapKind map_kind(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return MapKind::kNone;
    case Activation::kSilu:
      return MapKind::kSilu;
    case Activation::kGelu:
      return MapKind::kGelu;
    case Activation::kGeluErf:
      return MapKind::kGeluErf;
    case Activation::kRelu:
      return MapKind::kRelu;
    case Activation::kReluSquared:
      return MapKind::kReluSquared;
    case Activation::kXielu:  // apply_xielu
      return MapKind::kNone;
    case Activation::kClampedSwiglu:
      return MapKind::kClampedSwiglu;
    case Activation::kNormalCdf:
      return MapKind::kNormalCdf;
    case Activation::kSigmoid:
      return MapKind::kSigmoid;
  }
  return MapKind::kNone;
}

void finish(const KernelTable& kernels, const Epilogue& end, float* y, uint32_t n) {
  kernels.map(map_kind(end.activation), y, n);
  if (end.activation == Activation::kXielu) apply_xielu(end.xielu, y, n);
  if (end.scale != 1.0f) kernels.scale(end.scale, y, n);
  if (end.softcap > 0) {
    kernels.scale(1.0f / end.softcap, y, n);
    kernels.map(MapKind::kTanh, y, n);
    kernels.scale(end.softcap, y, n);
  }
}

}  // namespace realizar::cpu
