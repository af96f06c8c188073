// A CUDA device that is the processor: the kernels of backend/cuda, run by the emulator.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/device.h"

namespace realizar::test {

// What a device has allocated and not freed.
struct EmulatedMemory {
  size_t device_bytes = 0, pinned_bytes = 0;
};
enum class CaptureFault { kNone, kAtBegin, kAtEnd };
// How a launch fails: it is refused; it is told of after a later launch; when all are waited for.
enum class LaunchFault { kNone, kRefused, kTold, kAtWait };
struct EmulatedDeviceOptions {
  size_t free_bytes = size_t{1} << 40;  // that the device says it has
  size_t memory_bytes = SIZE_MAX;       // and that it has, for allocations of whole pieces
  size_t piece_bytes = 1;
  size_t shared_allocation_bytes = 0;
  CaptureFault capture_fault = CaptureFault::kNone;  // of every capture
  LaunchFault launch_fault = LaunchFault::kNone;
  uint32_t failing_launch = 0;       // after so many others
  EmulatedMemory* memory = nullptr;  // told there
  std::string name = "emulated";
};
std::unique_ptr<cuda::Device> make_emulated_cuda_device(const EmulatedDeviceOptions& options = {});
inline Result<std::unique_ptr<cuda::Device>> open_emulated_cuda() {
  return make_emulated_cuda_device();
}
// The first GPU of this machine. Errors: where there is none.
Result<std::unique_ptr<cuda::Device>> open_gpu();

using OpenCuda = std::function<Result<std::unique_ptr<cuda::Device>>()>;
// What tests of the CUDA backend run on; where open() gives an error they are skipped.
struct CudaUnderTest {
  const char* name;
  OpenCuda open;
  bool is_emulated = true;
};
inline std::vector<CudaUnderTest> cudas_under_test() {
  return {{"emulated", open_emulated_cuda}, {"gpu", open_gpu, false}};
}
inline void PrintTo(const CudaUnderTest& cuda, std::ostream* out) {
  *out << cuda.name;
}

// The CUDA backend on several; of a GPU each has memory and a stream of its own.
Result<std::unique_ptr<Backend>> make_cuda_on(const OpenCuda& open, uint32_t n_devices,
                                              const cuda::CudaOptions& options);
// The same where each has a part of every layer; GPUs of this machine are different ones, from the first on, with NCCL.
Result<std::unique_ptr<Backend>> make_sharing_emulated_cuda(uint32_t n_devices, const cuda::CudaOptions& options);
Result<std::unique_ptr<Backend>> make_sharing_cuda(uint32_t n_devices, const cuda::CudaOptions& options);
// The CUDA backend on one, as the suites' tables of backends want it.
Result<std::unique_ptr<Backend>> make_emulated_cuda(uint32_t n_threads);
Result<std::unique_ptr<Backend>> make_cuda(uint32_t n_threads);

}  // namespace realizar::test
