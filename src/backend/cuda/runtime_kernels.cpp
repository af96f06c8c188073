#include "backend/cuda/runtime_kernels.h"

namespace realizar::cuda {
namespace runtime {

#include "backend/cuda/launches.inl"
#include "backend/cuda/table.inl"

}  // namespace runtime

const KernelTable& runtime_kernels() {
  return runtime::kKernelTable;
}

}  // namespace realizar::cuda
