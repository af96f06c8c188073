// Loads all kernels to a device in advance: otherwise the first launch would load code, possibly while it is recorded.
#pragma once

#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

// Makes every possible launch of the table on load_only_stream().
void load_kernels(const KernelTable& kernels);

}  // namespace realizar::cuda
