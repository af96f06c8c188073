#include "backend/cuda/kernels/runtime_kernels.h"

namespace realizar::cuda {
namespace runtime {

// Each is in the .cu of its family.
#define RZ_LAUNCH(Result, name, ...) Result name(__VA_ARGS__);
#include "backend/cuda/kernels/launches.inl"
#include "backend/cuda/kernels/table.inl"

}  // namespace runtime

const KernelTable& runtime_kernels() {
  return runtime::kKernelTable;
}

}  // namespace realizar::cuda
