// A CUDA device that is the processor: the kernels of backend/cuda, run by the emulator.
#pragma once

#include <memory>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device.h"

namespace realizar::test {

std::unique_ptr<cuda::Device> make_emulated_cuda_device();
// The CUDA backend on it, as the suites' tables of backends want it.
Result<std::unique_ptr<Backend>> make_emulated_cuda(uint32_t n_threads);

}  // namespace realizar::test
