#include "backend/cuda/kernels/device_code.h"
#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda::runtime {

#include "backend/cuda/kernels/peaks.inl"

}  // namespace realizar::cuda::runtime
