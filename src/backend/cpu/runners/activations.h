// The function at the end of a product: LinearOp's and AdapterUpOp's.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/op_types.h"

namespace realizar::cpu {

// The kernel of an activation; kNone for xIELU, which has parameters.
MapKind map_kind(Activation activation);

void apply_xielu(const Xielu& constants, float* x, uint32_t n);

// The activation, the scale and the softcap of the product.
template <class Product>
void activate(const KernelTable& kernels, const Product& op, float* y, uint32_t n) {
  kernels.map(map_kind(op.activation), y, n);
  if (op.activation == Activation::kXielu) apply_xielu(op.xielu, y, n);
  if (op.scale != 1.0f) kernels.scale(op.scale, y, n);
  if (op.softcap > 0) {
    kernels.scale(1.0f / op.softcap, y, n);
    kernels.map(MapKind::kTanh, y, n);
    kernels.scale(op.softcap, y, n);
  }
}

}  // namespace realizar::cpu
