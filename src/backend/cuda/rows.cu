#include "backend/cuda/device_code.h"
#include "backend/cuda/kernels.h"

namespace realizar::cuda::runtime {

// clang-format off
#include "backend/cuda/formats.inl"
#include "backend/cuda/dots.inl"
#include "backend/cuda/rows.inl"
// clang-format on

}  // namespace realizar::cuda::runtime
