// All kernels brought to a device at once: code that is loaded by the first launch would otherwise be loaded while that
// launch is recorded.
#pragma once

#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

// Makes every launch that the table can make, on load_only_stream().
void load_kernels(const KernelTable& kernels);

}  // namespace realizar::cuda
