// The kernels compiled by nvcc.
#pragma once

#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

const KernelTable& runtime_kernels();

}  // namespace realizar::cuda
