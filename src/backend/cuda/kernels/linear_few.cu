#include "backend/cuda/kernels/device_code.h"
#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda::runtime {

// clang-format off
#include "backend/cuda/kernels/formats.inl"
#include "backend/cuda/kernels/dots.inl"
#include "backend/cuda/kernels/tiles.inl"
#include "backend/cuda/kernels/group_tiles.inl"
#include "backend/cuda/kernels/linear_few.inl"
#include "backend/cuda/kernels/splits.inl"
#include "backend/cuda/kernels/linear_few_split.inl"
// clang-format on

}  // namespace realizar::cuda::runtime
