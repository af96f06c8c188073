// Plain declarations only: a file compiled for an instruction set includes this header.
#pragma once

#include "backend/cpu/kernels.h"

namespace realizar::cpu {

// Runs where there is AVX-512 with BF16.
extern const KernelTable kEmulatedAmxKernels;

}  // namespace realizar::cpu
