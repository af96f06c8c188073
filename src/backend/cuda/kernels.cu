#include "backend/cuda/runtime_kernels.h"

#include "backend/cuda/device_code.h"

namespace realizar::cuda {
namespace {

#include "backend/cuda/kernels.inl"

}  // namespace

const KernelTable& runtime_kernels() {
  return kKernelTable;
}

}  // namespace realizar::cuda
