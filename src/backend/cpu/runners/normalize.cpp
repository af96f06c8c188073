#include "backend/cpu/runners/normalize.h"

#include <cmath>

namespace realizar::cpu {

void normalize(const KernelTable& kernels, const NormOp& op, const float* weight, const float* bias, const float* in,
               float* out, uint32_t n, float magnitude) {
  const float mean = op.kind == NormKind::kLayer ? kernels.sum(in, n) / static_cast<float>(n) : 0.0f;
  float power;
  if (op.kind == NormKind::kRms) {
    power = kernels.dot_f32(in, in, n);
  } else {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += (double{in[i]} - mean) * (double{in[i]} - mean);
    power = static_cast<float>(sum);
  }
  const float scale = magnitude / std::sqrt(power / static_cast<float>(n) + op.eps);
  for (uint32_t i = 0; i < n; ++i) {
    float y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    y = op.accumulate ? out[i] + y : y;
    out[i] = op.scale == 1.0f ? y : y * op.scale;
  }
}

}  // namespace realizar::cpu
