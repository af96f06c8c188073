#include "backend/cuda/device_code.h"
#include "backend/cuda/kernels.h"

namespace realizar::cuda::runtime {

#include "backend/cuda/peaks.inl"

}  // namespace realizar::cuda::runtime
