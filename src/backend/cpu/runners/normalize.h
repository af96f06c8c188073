// Norms of a row, or of a part of it.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/ops.h"

namespace realizar::cpu {

// Kind, eps, scale and accumulation are those of the operation; weight and bias [n], null: none. Normalized elements
// are multiplied by `magnitude` first.
void normalize(const KernelTable& kernels, const NormOp& op, const float* weight, const float* bias, const float* in,
               float* out, uint32_t n, float magnitude = 1.0f);

}  // namespace realizar::cpu
