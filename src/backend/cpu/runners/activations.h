// Activations, and the epilogues of products.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/op_types.h"

namespace realizar::cpu {

// The kernel of an activation; kNone for xIELU, which has parameters.
MapKind map_kind(Activation activation);

void finish(const KernelTable& kernels, const Epilogue& end, float* y, uint32_t n);

}  // namespace realizar::cpu
