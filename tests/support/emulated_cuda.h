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

// The memory that a device has allocated and not freed.
struct EmulatedMemory {
  size_t device_bytes = 0, pinned_bytes = 0;
};
enum class CaptureFault { kNone, kAtBegin, kAtEnd };
// The kind of a launch's failure: refused; reported after a later launch; reported when all are waited for.
enum class LaunchFault { kNone, kRefused, kTold, kAtWait };
struct EmulatedDeviceOptions {
  size_t free_bytes = size_t{1} << 40;  // reported by the device
  size_t memory_bytes = SIZE_MAX;       // actual, for allocations of whole pieces
  size_t piece_bytes = 1;
  size_t shared_allocation_bytes = 0;
  CaptureFault capture_fault = CaptureFault::kNone;  // of every capture
  LaunchFault launch_fault = LaunchFault::kNone;
  uint32_t failing_launch = 0;       // after this many others
  EmulatedMemory* memory = nullptr;  // receives the amounts
  std::string name = "emulated";
};
std::unique_ptr<cuda::Device> make_emulated_cuda_device(const EmulatedDeviceOptions& options = {});
inline Result<std::unique_ptr<cuda::Device>> open_emulated_cuda() {
  return make_emulated_cuda_device();
}
// The first GPU of this machine. Errors: if there is none.
Result<std::unique_ptr<cuda::Device>> open_gpu();

using OpenCuda = std::function<Result<std::unique_ptr<cuda::Device>>()>;
// A device for tests of the CUDA backend; if open() returns an error they are skipped.
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

// The CUDA backend on several devices; with a GPU each has its own memory and stream.
Result<std::unique_ptr<Backend>> make_cuda_on(const OpenCuda& open, uint32_t n_devices,
                                              const cuda::CudaOptions& options);
// That backend with a part of every layer on each; GPUs of this machine are different ones, from the first on, with
// NCCL.
Result<std::unique_ptr<Backend>> make_sharing_emulated_cuda(uint32_t n_devices, const cuda::CudaOptions& options);
Result<std::unique_ptr<Backend>> make_sharing_cuda(uint32_t n_devices, const cuda::CudaOptions& options);
// The CUDA backend on one device, for the suites' tables of backends.
Result<std::unique_ptr<Backend>> make_emulated_cuda(uint32_t n_threads);
Result<std::unique_ptr<Backend>> make_cuda(uint32_t n_threads);

}  // namespace realizar::test
